//! Backward passes, compared with gradients that other software computed (fp32), for every number of ranks up to 8 that
//! divides the experts, whatever was saved. The bits are the same for every number of ranks and every order of the
//! host's pipes.

macro_rules! layers {
    ($($test:ident: $name:literal of $data:literal;)*) => {$(
        #[allow(dead_code, reason = "the example also prints")]
        mod $test {
            use crate::random::seeds;
            use std::time::Duration;

            include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));

            fn data() -> (Layer, Gradients) {
                let bytes = include_bytes!(concat!("../../../examples/data/", $data, ".safetensors"));
                (Layer::parse(bytes).unwrap(), Gradients::parse(bytes).unwrap())
            }

            #[test]
            fn is_right_for_every_number_of_ranks() {
                let (layer, gradients) = data();
                let alone = Step::of(&layer, &gradients, &Group::new(1)).unwrap();
                let expected = alone.backward(&alone.forward(), Choice::Projections);
                let compared = expected.compare(&gradients);
                assert!(compared.is_good(), "{compared}");
                println!("{}: {compared}", $name);
                for ranks in (1..=8).filter(|ranks| layer.experts.is_multiple_of(*ranks)) {
                    let step = Step::of(&layer, &gradients, &Group::new(ranks)).unwrap();
                    let group = Group::new(ranks);
                    let (saved, report) = step.launch_forward(&group).unwrap_or_else(|error| panic!("{error}"));
                    assert!(saved == step.forward(), "what is saved on {ranks} ranks");
                    assert_eq!(report.empty_tasks, 0);
                    for choice in [Choice::Least, Choice::Projections] {
                        let found = step.launch_backward(&group, &saved, choice);
                        let (found, report) = found.unwrap_or_else(|error| panic!("{error}"));
                        assert!(found == expected, "{choice:?} on {ranks} ranks");
                        assert_eq!(report.empty_tasks, 0);
                    }
                    // The saved activation was rounded, so this choice has different bits.
                    let (found, report) = step.launch_backward(&group, &saved, Choice::Activation).unwrap();
                    assert!(found == step.backward(&saved, Choice::Activation), "on {ranks} ranks");
                    assert!(found.compare(&gradients).is_good());
                    assert_eq!(report.empty_tasks, 0);
                }
            }

            #[test]
            fn experts_without_tokens_have_gradients_of_zero() {
                let (layer, gradients) = data();
                let step = Step::of(&layer, &gradients, &Group::new(1)).unwrap();
                let (saved, _) = step.launch_forward(&Group::new(1)).unwrap();
                let (found, _) = step.launch_backward(&Group::new(1), &saved, Choice::Projections).unwrap();
                for expert in step.layer.route.experts().filter(|&e| step.layer.route.expert_rows(e) == 0) {
                    let rank = expert.owner();
                    let zero = |tile: Vec<f32>| tile.iter().all(|x| x.to_bits() == 0);
                    assert!(zero(found.dgate[rank].expert(expert).to_vec()), "{expert}");
                    assert!(zero(found.dup[rank].expert(expert).to_vec()), "{expert}");
                    assert!(zero(found.ddown[rank].expert(expert).to_vec()), "{expert}");
                }
            }

            #[test]
            fn has_the_same_bits_in_every_order() {
                let (layer, gradients) = data();
                let step = Step::of(&layer, &gradients, &Group::new(4)).unwrap();
                let saved = step.forward();
                let expected = step.backward(&saved, Choice::Least);
                for seed in seeds(5) {
                    let late = (seed % 4) as usize;
                    let group = Group::new(4).seed(seed).repeat(2).delay(late, Duration::from_millis(2));
                    let (found, _) = step.launch_backward(&group, &saved, Choice::Least).unwrap();
                    assert!(found == expected, "seed {seed}");
                }
            }
        }
    )*};
}

layers! {
    skewed: "train_deepseek_skewed" of "deepseek_skewed";
    balanced: "train_qwen3_balanced" of "qwen3_balanced";
    ragged: "train_qwen3_ragged" of "qwen3_ragged";
    // The first layer, in a kernel that may get more tokens than the layer has.
    many_tokens: "train_many_tokens" of "deepseek_skewed";
}

#[test]
fn cores_of_peers_send_in_turn_where_all_rows_of_an_expert_are_needed() {
    let in_turn = |schedule: &str| {
        let mut orders = schedule.lines().filter(|line| line.starts_with("8 ranks"));
        orders.any(|order| order.contains("rows come from all ranks in turn"))
    };
    assert!(in_turn(many_tokens::train_many_tokens::backward::SCHEDULE));
    assert!(!in_turn(many_tokens::train_many_tokens::forward::SCHEDULE));
    assert!(!in_turn(skewed::train_deepseek_skewed::backward::SCHEDULE));
}
