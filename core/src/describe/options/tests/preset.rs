use crate::decide::policy::Policy;
use crate::describe::preset::Preset;

#[test]
fn every_preset_is_a_valid_policy_under_its_name() {
    for (number, preset) in (1..).zip(Preset::ALL) {
        assert_eq!(preset.code(), number);
        assert_eq!(Policy::options().preset(preset).build(), Ok(preset.policy()), "{preset:?}");
        assert_eq!(Preset::from_name(preset.name()), Some(preset));
    }
    assert_eq!(Preset::Default.policy(), Policy::default());
    assert_eq!(Preset::from_name("kubernets"), None);
}

#[test]
fn a_preset_is_where_other_fields_start() {
    let mut aws = *Policy::options().preset(Preset::AwsStandard21);
    assert_eq!(aws.build(), Ok(Preset::AwsStandard21.policy()));
    let more = aws.attempts(7).build().unwrap();
    assert_eq!(more, Policy { attempts: 7, ..Preset::AwsStandard21.policy() });
}
