use super::*;

#[test]
fn the_machine_is_its_bytes() {
    assert_eq!((size_of::<Budget>(), size_of::<BudgetConfig>(), size_of::<Held>()), (128, 64, 4));
}
