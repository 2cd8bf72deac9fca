//! Lists.

use proptest::prelude::*;
use serde_json::json;

use crate::desk::{Desk, fields};

#[test]
fn a_list_grows_and_shrinks() {
    let desk = Desk::new();
    let change = desk.run("add_to_list", json!({"list": "shopping", "items": ["milk", "2 eggs"]}));
    assert_eq!(change.summary, "Put on the list shopping: milk, 2 eggs");
    assert_eq!(change.warnings, ["there is no list `shopping` yet; it is made"]);
    assert_eq!(desk.read("notes/shopping.md"), "# shopping\n\n- [ ] milk\n- [ ] 2 eggs\n");
    let change = desk.run("add_to_list", json!({"list": "Shopping list", "items": ["Milk", "bread"]}));
    assert_eq!(change.warnings, ["Milk is on the list already"]);
    desk.run("check_off", json!({"list": "the shopping list", "items": ["eggs"]}));
    let shown = desk.answer("show_list", json!({"list": "shopping"}));
    assert_eq!(fields(&shown, &["title", "open", "done"]), "shopping | [\"milk\",\"bread\"] | [\"2 eggs\"]");
    desk.run("remove_from_list", json!({"list": "shopping", "items": ["2 eggs", "milk"]}));
    assert_eq!(desk.read("notes/shopping.md"), "# shopping\n\n- [ ] bread\n");
    let same = desk.answer("add_to_list", json!({"list": "shopping", "items": ["bread"]}));
    assert_eq!(same["notes"], json!(["bread is on the list already"]));
}

#[test]
fn other_lines_stay() {
    let desk = Desk::new();
    desk.write("notes/todo.md", "# To do\r\nText.\r\n* [ ] one\r\n  - [x] two\r\n- [ ] one more\r\n\r\nThe end.");
    desk.run("add_to_list", json!({"list": "to do", "items": ["three"]}));
    desk.run("check_off", json!({"list": "todo.md", "items": ["one"]}));
    assert_eq!(
        desk.read("notes/todo.md"),
        "# To do\r\nText.\r\n* [x] one\r\n  - [x] two\r\n- [ ] one more\r\n- [ ] three\r\n\r\nThe end."
    );
    assert_eq!(
        desk.error("remove_from_list", json!({"list": "to do", "items": ["t"]})),
        "Which is meant by `t`: `two`, `three`?"
    );
    assert_eq!(
        desk.error("check_off", json!({"list": "to do", "items": ["two"]})),
        "`two` is not on the list To do; there are: `one more`, `three`"
    );
    assert_eq!(
        desk.error("show_list", json!({"list": "films"})),
        "no list is called `films`; There are: `To do` (id `todo.md`)."
    );
    assert_eq!(desk.error("add_to_list", json!({"list": "to do", "items": []})), "argument `items`: it is empty");
}

#[test]
fn a_list_without_items_is_found_by_its_title() {
    let desk = Desk::new();
    desk.run("add_to_list", json!({"list": "films", "items": ["Alien"]}));
    desk.run("remove_from_list", json!({"list": "films", "items": ["alien"]}));
    assert_eq!(desk.read("notes/films.md"), "# films\n\n");
    desk.run("add_to_list", json!({"list": "films", "items": ["Brazil"]}));
    assert_eq!(desk.read("notes/films.md"), "# films\n\n- [ ] Brazil\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_items_come_back(items in proptest::collection::btree_set("[a-zäß0-9(]{1,8}( [a-z!x\\]\\[-]{1,5})?", 1..6)) {
        let desk = Desk::new();
        let items: Vec<String> = items.into_iter().collect();
        // What differs by its signs only is the same thing on a list.
        let normal: std::collections::BTreeSet<String> = items.iter().map(|item| botpsy_agent::store::normalize(item)).collect();
        prop_assume!(normal.len() == items.len() && !normal.contains(""));
        desk.run("add_to_list", json!({"list": "x", "items": items}));
        prop_assert_eq!(&desk.answer("show_list", json!({"list": "x"}))["open"], &json!(items));
        desk.run("check_off", json!({"list": "x", "items": items}));
        prop_assert_eq!(&desk.answer("show_list", json!({"list": "x"}))["done"], &json!(items));
        desk.run("remove_from_list", json!({"list": "x", "items": items}));
        prop_assert_eq!(desk.read("notes/x.md"), "# x\n\n");
    }
}
