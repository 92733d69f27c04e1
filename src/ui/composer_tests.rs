use super::*;

fn composer(text: &str) -> Composer {
    let mut composer = Composer::default();
    composer.set(text);
    composer
}

#[test]
fn words_are_deleted_with_the_blanks_behind_them() {
    let mut composer = composer("one two  ");
    composer.edit(Edit::DeleteWord);
    assert_eq!(composer.text(), "one ");
    composer.edit(Edit::DeleteWord);
    composer.edit(Edit::DeleteWord);
    assert!(composer.is_empty());
}

#[test]
fn up_and_down_follow_the_wrapped_rows() {
    let mut composer = composer("abcdef gh\nxy");
    composer.up(4);
    assert_eq!(composer.caret(), (0, 9));
    composer.up(4);
    assert_eq!(composer.caret(), (0, 6));
    composer.down(4);
    composer.down(4);
    assert_eq!(composer.caret(), (1, 2));
}

#[test]
fn the_rows_around_the_caret_are_shown() {
    let composer = composer("1\n2\n3\n4\n5");
    let visible = composer.visible(10, 2);
    assert_eq!(visible.rows, ["4", "5"]);
    assert_eq!((visible.caret_row, visible.caret_cells), (1, 1));
}

#[test]
fn a_tab_is_as_wide_as_it_is_shown() {
    let composer = composer("\tx");
    assert_eq!(composer.visible(20, 1).caret_cells, 5);
    assert_eq!(composer.text(), "\tx");
}

#[test]
fn a_paste_is_undone_as_one() {
    let mut composer = composer("a ");
    composer.paste("many words at once");
    composer.edit(Edit::Undo);
    assert_eq!(composer.text(), "a ");
}
