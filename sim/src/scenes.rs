//! The tables: the faults of the server, the clients that call it, and the bounds of each row.

use crate::bounds::Bound::{self, Back, Load, LoadAtWorst, LoadInFault, LoadLater, Storm, Success};
use crate::fleet::{Others, Scenario};
use crate::server::Fault;
use crate::strategy::{self, Strategy};
use anyhow::Result;

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name, if the strategy's does not do.
    pub name: Option<&'static str>,
    /// The policy and the guards of each client.
    pub strategy: Strategy,
    /// The rate of the calls, and the fault of the server.
    pub scenario: Scenario,
    /// The bounds that the row must hold.
    pub bounds: &'static [Bound],
}

/// Rows under a title.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its title, a sentence about the fault.
    pub title: &'static str,
    /// Its lines.
    pub rows: Vec<Row>,
    /// Each row is also drawn second by second.
    pub is_drawn: bool,
}

/// A budget in the scenario that it is made for.
const CALM: &[Bound] = &[Load(1.2), LoadInFault(1.2), LoadAtWorst(1.2), Back(10)];
/// The budget of loops, of clients with ten calls a second or more.
const BUSY: &[Bound] = &[LoadInFault(1.2), LoadLater(1.05), Back(10)];
/// The budget of loops, of clients with one call a second or more.
const STEADY: &[Bound] = &[Load(1.3), Back(10)];

/// The bounds of the budget of loops in an outage; none for clients with less than a call a second.
const fn promised(rate: f64) -> &'static [Bound] {
    if rate >= 10.0 {
        BUSY
    } else if rate >= 1.0 {
        STEADY
    } else {
        &[]
    }
}

/// All tables of that seed.
///
/// # Errors
/// None of the strategies is invalid; the core checks them all the same.
pub fn tables(seed: u64) -> Result<Vec<Table>> {
    let retries = strategy::retries_only()?;
    let ours = strategy::by_default()?;
    let budget = strategy::budgeted()?;
    let purse = strategy::purse()?;
    let row = |strategy: &Strategy, scenario: Scenario, bounds| {
        let strategy = strategy.clone();
        Row { name: None, strategy, scenario, bounds }
    };
    let table = |title, rows| Table { title, rows, is_drawn: false };
    let fleet = |rate, fault| Scenario::of(rate, fault, seed).of_three_thousand();
    // One row without a budget, which is alike at every rate, and the budget of loops at each of them.
    let at_rates = |title, scenario: &dyn Fn(f64) -> Scenario, bounds: fn(f64) -> &'static [Bound]| {
        let storm = row(&retries, scenario(1.0), &[]);
        let rates = [0.1, 0.3, 1.0, 3.0, 10.0, 100.0];
        let budgeted = rates.into_iter().map(|rate| row(&ours, scenario(rate), bounds(rate)));
        table(title, std::iter::once(storm).chain(budgeted).collect())
    };
    let outage = strategy::all()?.into_iter().map(|strategy| {
        let bounds: &[Bound] = match strategy.name {
            name if name == retries.name || name == "retry, no jitter" => &[Storm],
            name if name == ours.name => STEADY,
            name if name == budget.name || name == "+ budget, breaker" => CALM,
            _ => &[],
        };
        row(&strategy, Scenario::of(1.0, Fault::Down, seed), bounds)
    });
    let rare = [0.3, 0.1, 0.03].into_iter().flat_map(|rate| {
        let scenario = Scenario::of(rate, Fault::Down, seed);
        let bounds: [&[Bound]; 3] = [&[Storm], &[Back(10)], &[Back(10)]];
        [&retries, &budget, &purse]
            .into_iter()
            .zip(bounds)
            .map(move |(strategy, bounds)| (strategy.clone(), scenario.clone(), bounds))
    });
    let none = |_| -> &'static [Bound] { &[] };
    let slow = [1.0, 0.1].into_iter().flat_map(|rate| {
        let scenario = Scenario::of(rate, Fault::Slow, seed);
        [
            strategy::single(),
            strategy::retries_only(),
            strategy::by_default(),
            strategy::budgeted(),
            strategy::budgeted_breaker(),
            strategy::purse(),
        ]
        .into_iter()
        .map(move |strategy| Ok(Row { name: None, strategy: strategy?, scenario: scenario.clone(), bounds: &[] }))
    });
    let partial = |names: [&'static str; 2], fault, bounds| {
        let scenario = fleet(10.0, fault).lasting(60);
        let [unlimited, budgeted] = names.map(Some);
        let unlimited = Row { name: unlimited, ..row(&retries, scenario.clone(), &[]) };
        [unlimited, Row { name: budgeted, ..row(&ours, scenario, bounds) }]
    };
    let others = |name, guards_each, measured, rate| {
        let others = Some(Others { guards_each, measured });
        Row { name: Some(name), ..row(&ours, Scenario { others, ..fleet(rate, Fault::Down) }, &[]) }
    };
    Ok(vec![
        Table {
            title: "A server that is down for 30 s; each client makes 1 call a second",
            rows: outage.collect(),
            is_drawn: true,
        },
        table(
            "The same outage, for clients that call less often",
            rare.map(|(strategy, scenario, bounds)| row(&strategy, scenario, bounds)).collect(),
        ),
        at_rates("The same outage, with the budget of loops", &|rate| fleet(rate, Fault::Down), promised),
        at_rates("Down for 10 s", &|rate| fleet(rate, Fault::Down).lasting(10), promised),
        at_rates("Down for 120 s", &|rate| fleet(rate, Fault::Down).lasting(120), promised),
        at_rates("Down for 10 s, then a full queue", &|rate| fleet(rate, Fault::DownThenFull).lasting(10), promised),
        at_rates("Down for 30 s, then a full queue", &|rate| fleet(rate, Fault::DownThenFull), promised),
        table("A server that is not down but works at half its speed for 30 s", slow.collect::<Result<_>>()?),
        table(
            "A server of whose requests some fail for 60 s, at once (errors) or without an answer (timeouts)",
            [
                partial(["5 % errors", "  by default"], Fault::Errors(0.05), &[Success(0.9989)]),
                partial(["5 % timeouts", "  by default"], Fault::Losses(0.05), &[Success(0.9989)]),
                partial(["20 % errors", "  by default"], Fault::Errors(0.2), &[]),
                partial(["50 % errors", "  by default"], Fault::Errors(0.5), &[]),
                partial(["20 % timeouts", "  by default"], Fault::Losses(0.2), &[]),
            ]
            .into_iter()
            .flatten()
            .collect(),
        ),
        at_rates(
            "Down for 30 s, then a full queue; all processes begin anew every 10 s of the outage",
            &|rate| Scenario { restarts: Some(10), ..fleet(rate, Fault::DownThenFull) },
            none,
        ),
        at_rates(
            "A herd: calls for 3 s of the server's capacity come at once",
            &|rate| Scenario { herd: 3.0, ..fleet(rate, Fault::Errors(0.0)).lasting(1) },
            none,
        ),
        table(
            "Four servers; the first is down for 30 s, of the others a hundredth of the requests fails",
            [1.0, 10.0]
                .into_iter()
                .flat_map(|rate| {
                    [
                        others("one budget: down", false, false, rate),
                        others("one budget: others", false, true, rate),
                        others("one each: down", true, false, rate),
                        others("one each: others", true, true, rate),
                    ]
                })
                .collect(),
        ),
    ])
}
