//! Scrolling by a place in the content, not by a row number: what streams in below, or is added
//! above, never moves what is being read. Every step costs what it passes, never the whole list.

/// The row at the top of a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor<K> {
    /// The item.
    pub item: K,
    /// The row within it.
    pub row: usize,
}

/// Items of different heights, one below the other. An item of height 0 is passed over.
pub trait Items {
    /// What names an item.
    type Key: Copy + PartialEq;

    /// The uppermost item.
    fn first(&self) -> Option<Self::Key>;
    /// The lowest item.
    fn last(&self) -> Option<Self::Key>;
    /// The item below.
    fn after(&self, key: Self::Key) -> Option<Self::Key>;
    /// The item above.
    fn before(&self, key: Self::Key) -> Option<Self::Key>;
    /// Its rows.
    fn height(&mut self, key: Self::Key) -> usize;
}

/// The place `rows` further down, at most the last row of all.
pub fn down<I: Items>(items: &mut I, from: Anchor<I::Key>, rows: usize) -> Anchor<I::Key> {
    let mut at = from;
    let mut left = rows;
    loop {
        let below = items.height(at.item).saturating_sub(at.row + 1);
        if left <= below {
            return Anchor { item: at.item, row: at.row + left };
        }
        match items.after(at.item) {
            Some(next) => {
                left -= below + 1;
                at = Anchor { item: next, row: 0 };
                while items.height(at.item) == 0 {
                    match items.after(at.item) {
                        Some(next) => at.item = next,
                        None => return end(items).unwrap_or(from),
                    }
                }
            }
            None => return Anchor { item: at.item, row: at.row + below },
        }
    }
}

/// The place `rows` further up, at most the first row of all.
pub fn up<I: Items>(items: &mut I, from: Anchor<I::Key>, rows: usize) -> Anchor<I::Key> {
    let mut at = from;
    let mut left = rows;
    while left > at.row {
        let Some(mut item) = items.before(at.item) else {
            return Anchor { item: at.item, row: 0 };
        };
        left -= at.row + 1;
        while items.height(item) == 0 {
            match items.before(item) {
                Some(above) => item = above,
                None => return Anchor { item: at.item, row: 0 },
            }
        }
        at = Anchor { item, row: items.height(item) - 1 };
    }
    Anchor { item: at.item, row: at.row - left }
}

/// The last row of all.
pub fn end<I: Items>(items: &mut I) -> Option<Anchor<I::Key>> {
    let mut item = items.last()?;
    loop {
        let height = items.height(item);
        if height > 0 {
            return Some(Anchor { item, row: height - 1 });
        }
        item = items.before(item)?;
    }
}

/// The top row of a page of `rows` that shows the end.
pub fn last_page<I: Items>(items: &mut I, rows: usize) -> Option<Anchor<I::Key>> {
    let end = end(items)?;
    Some(up(items, end, rows.saturating_sub(1)))
}

/// The rows of a page from `top` on, at most `rows`.
pub fn page<I: Items>(items: &mut I, top: Anchor<I::Key>, rows: usize) -> Vec<Anchor<I::Key>> {
    let mut page = Vec::with_capacity(rows);
    let mut item = Some(top.item);
    let mut row = top.row;
    while let Some(key) = item {
        let height = items.height(key);
        while row < height {
            if page.len() == rows {
                return page;
            }
            page.push(Anchor { item: key, row });
            row += 1;
        }
        row = 0;
        item = items.after(key);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Heights(Vec<usize>);

    impl Items for Heights {
        type Key = usize;
        fn first(&self) -> Option<usize> {
            (!self.0.is_empty()).then_some(0)
        }
        fn last(&self) -> Option<usize> {
            self.0.len().checked_sub(1)
        }
        fn after(&self, key: usize) -> Option<usize> {
            (key + 1 < self.0.len()).then_some(key + 1)
        }
        fn before(&self, key: usize) -> Option<usize> {
            key.checked_sub(1)
        }
        fn height(&mut self, key: usize) -> usize {
            self.0[key]
        }
    }

    #[test]
    fn steps_agree_with_counting_rows() {
        let heights = [2, 0, 3, 1, 0, 4, 0];
        let all: Vec<(usize, usize)> = heights
            .iter()
            .enumerate()
            .flat_map(|(item, height)| (0..*height).map(move |row| (item, row)))
            .collect();
        let mut items = Heights(heights.to_vec());
        for (from, (item, row)) in all.iter().enumerate() {
            for step in 0..12 {
                let at = Anchor { item: *item, row: *row };
                let below = down(&mut items, at, step);
                assert_eq!((below.item, below.row), all[(from + step).min(all.len() - 1)]);
                let above = up(&mut items, at, step);
                assert_eq!((above.item, above.row), all[from.saturating_sub(step)]);
            }
        }
        let last = last_page(&mut items, 4).map(|anchor| (anchor.item, anchor.row));
        assert_eq!(last, Some(all[all.len() - 4]));
        let page = page(&mut items, Anchor { item: 0, row: 1 }, 100);
        assert_eq!(page.len(), all.len() - 1);
    }

    #[test]
    fn an_empty_list_has_no_page() {
        assert!(last_page(&mut Heights(Vec::new()), 5).is_none());
        assert!(last_page(&mut Heights(vec![0, 0]), 5).is_none());
    }
}
