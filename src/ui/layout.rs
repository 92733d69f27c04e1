//! Where everything is: a pure function of the terminal's size and a few choices. All areas lie
//! inside the terminal, whatever its size.

use ratatui::layout::Rect;

/// What the keys go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// The conversation.
    Conversation,
    /// The children.
    Delegations,
    /// The input.
    Composer,
}

/// How the panes share the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Too small for anything but a notice.
    TooSmall,
    /// One pane, no frame.
    Bare,
    /// One pane in a frame.
    Single,
    /// Conversation above, children below.
    Stacked,
    /// Conversation left, children right.
    Side,
}

/// What decides the areas beside the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    /// What the keys go to.
    pub focus: Focus,
    /// True for one pane on the full screen.
    pub zoomed: bool,
    /// The conversation's part, in percent.
    pub divider: u16,
    /// Rows that the input would like.
    pub composer_rows: u16,
    /// True once there is a child.
    pub has_children: bool,
}

/// The areas. An area that is not shown is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Areas {
    /// How the panes share the screen.
    pub shape: Shape,
    /// The whole terminal.
    pub screen: Rect,
    /// The top line.
    pub header: Rect,
    /// The frame around panes and input, its border included.
    pub frame: Rect,
    /// The conversation without its border.
    pub conversation: Rect,
    /// The children without their border.
    pub delegations: Rect,
    /// The input without its border.
    pub composer: Rect,
    /// The line with the keys.
    pub footer: Rect,
}

/// Below this nothing fits.
const SMALLEST: (u16, u16) = (20, 5);
/// From here on the panes can share the screen.
const BOTH: (u16, u16) = (60, 16);
/// From this width on they stand side by side.
const SIDE: u16 = 100;
/// Below this a frame would take too much.
const FRAMED: (u16, u16) = (40, 10);
/// No pane gets narrower by moving the divider.
const NARROWEST: u16 = 24;

impl Areas {
    /// The areas of a terminal of this size.
    pub fn of(width: u16, height: u16, choices: Choices) -> Self {
        let screen = Rect { x: 0, y: 0, width, height };
        match shape(width, height, choices) {
            Shape::TooSmall => Self::blank(Shape::TooSmall, screen),
            Shape::Bare => Self::bare(screen, choices),
            shape @ (Shape::Single | Shape::Stacked | Shape::Side) => {
                Self::framed(shape, screen, choices)
            }
        }
    }

    fn blank(shape: Shape, screen: Rect) -> Self {
        let none = Rect::default();
        Self {
            shape,
            screen,
            header: none,
            frame: none,
            conversation: none,
            delegations: none,
            composer: none,
            footer: none,
        }
    }

    fn bare(screen: Rect, choices: Choices) -> Self {
        let composer_rows = choices.composer_rows.clamp(1, (screen.height / 4).max(1));
        let line = |y, height| Rect { y, height, ..screen };
        let composer_top = screen.height - 1 - composer_rows;
        let body = line(1, composer_top - 1);
        let mut areas = Self::blank(Shape::Bare, screen);
        areas.header = line(0, 1);
        areas.composer = line(composer_top, composer_rows);
        areas.footer = line(screen.height - 1, 1);
        areas.show_one(body, choices.focus);
        areas
    }

    fn framed(shape: Shape, screen: Rect, choices: Choices) -> Self {
        let mut areas = Self::blank(shape, screen);
        areas.header = Rect { height: 1, ..screen };
        areas.frame = Rect { y: 1, height: screen.height - 1, ..screen };
        let inner = Rect { x: 1, width: screen.width - 2, ..screen };
        let composer_rows = choices.composer_rows.clamp(1, (screen.height / 4).max(1));
        areas.footer = Rect { y: screen.height - 1, height: 1, ..screen };
        let composer_top = screen.height - 1 - composer_rows;
        areas.composer = Rect { y: composer_top, height: composer_rows, ..inner };
        // One row for the frame's top and one for the line above the input.
        let body = Rect { y: 2, height: composer_top.saturating_sub(3), ..inner };
        match shape {
            Shape::Side => areas.side_by_side(body, choices),
            Shape::Stacked => areas.stacked(body, choices),
            Shape::TooSmall | Shape::Bare | Shape::Single => areas.show_one(body, choices.focus),
        }
        areas
    }

    fn show_one(&mut self, body: Rect, focus: Focus) {
        match focus {
            Focus::Conversation | Focus::Composer => self.conversation = body,
            Focus::Delegations => self.delegations = body,
        }
    }

    fn side_by_side(&mut self, body: Rect, choices: Choices) {
        let room = body.width.saturating_sub(1);
        let wanted = u32::from(room) * u32::from(choices.divider) / 100;
        let wanted = u16::try_from(wanted).unwrap_or(room);
        let left = wanted.clamp(NARROWEST, room.saturating_sub(NARROWEST).max(NARROWEST));
        self.conversation = Rect { width: left, ..body };
        self.delegations = Rect { x: body.x + left + 1, width: room - left, ..body };
    }

    fn stacked(&mut self, body: Rect, choices: Choices) {
        let room = body.height.saturating_sub(1);
        let wanted = u32::from(room) * (100 - u32::from(choices.divider.min(100))) / 100;
        let wanted = u16::try_from(wanted).unwrap_or(room);
        let below =
            if choices.has_children { wanted.clamp(3, room.saturating_sub(3).max(3)) } else { 1 };
        let above = room.saturating_sub(below);
        self.conversation = Rect { height: above, ..body };
        self.delegations = Rect { y: body.y + above + 1, height: room - above, ..body };
    }
}

fn shape(width: u16, height: u16, choices: Choices) -> Shape {
    if width < SMALLEST.0 || height < SMALLEST.1 {
        Shape::TooSmall
    } else if width < FRAMED.0 || height < FRAMED.1 {
        Shape::Bare
    } else if width < BOTH.0 || height < BOTH.1 || choices.zoomed {
        Shape::Single
    } else if width < SIDE {
        Shape::Stacked
    } else {
        Shape::Side
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_area_lies_inside_the_terminal_at_every_size() {
        let focuses = [Focus::Conversation, Focus::Delegations, Focus::Composer];
        for (width, height) in (0..130).flat_map(|width| (0..45).map(move |height| (width, height)))
        {
            for focus in focuses {
                for (divider, composer_rows) in [(0, 0), (52, 1), (100, 500)] {
                    let choices = Choices {
                        focus,
                        zoomed: false,
                        divider,
                        composer_rows,
                        has_children: divider > 0,
                    };
                    let areas = Areas::of(width, height, choices);
                    let all = [
                        areas.header,
                        areas.frame,
                        areas.conversation,
                        areas.delegations,
                        areas.composer,
                        areas.footer,
                    ];
                    for area in all {
                        assert_eq!(area, area.intersection(areas.screen), "{width}x{height}");
                    }
                    assert_eq!(areas.conversation.intersection(areas.delegations).area(), 0);
                }
            }
        }
    }
}
