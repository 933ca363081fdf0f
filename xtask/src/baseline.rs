//! Instructions of the hot paths and sizes of the packages, compared with the baseline: a change that makes the project slower or fatter
//! is seen before it lands.
//!
//! Instructions are counted and bytes are weighed, because both come out the same each time: nanoseconds do not, and so
//! nothing here is timed. benches/baseline.json has the figures that are accepted. `cargo xtask check` fails when one grew
//! by more than a twentieth, and the file is changed in the same commit, with the reason.

use crate::bench::targets;
use crate::shell::say;
use crate::{Lang, shell};
use accepted::{Baseline, Tools};
use anyhow::{Result, bail};
use compare::{Verdict, compare};
pub(crate) use figure::{Figure, Unit};

mod accepted;
mod compare;
mod counts;
mod figure;
mod sizes;

/// Builds what is shipped in a language, or in all, counts and weighs it; the floors and peers beside ours too.
pub(crate) fn measure(lang: Lang) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for lang in lang.each() {
        figures.append(&mut match lang {
            Lang::Rust => counts::rust()?,
            Lang::Wasm => sizes::npm()?,
            Lang::Python => sizes::wheel()?,
            Lang::C | Lang::All => [sizes::library()?, sizes::thumb()?].concat(),
        });
    }
    Ok(figures)
}

fn ours() -> Result<Vec<Figure>> {
    Ok(measure(Lang::All)?.into_iter().filter(Figure::is_ours).collect())
}

/// The bytes of what is shipped. Instructions need a build of their own.
fn weights() -> Result<Vec<Figure>> {
    let figures = [sizes::npm()?, sizes::wheel()?, sizes::library()?, sizes::thumb()?].concat();
    Ok(figures.into_iter().filter(Figure::is_ours).collect())
}

/// Fails when something grew by more than a twentieth over the baseline.
pub(crate) fn check() -> Result<()> {
    hold(ours()?, |_| true)
}

/// The same for what is shipped.
pub(crate) fn weigh() -> Result<()> {
    hold(weights()?, |accepted| accepted.unit == Unit::Bytes)
}

/// Holds figures against those of the baseline that are meant.
fn hold(figures: Vec<Figure>, meant: impl Fn(&Figure) -> bool) -> Result<()> {
    let (baseline, tools) = (Baseline::read()?, Tools::here()?);
    let weights = figures.iter().filter(|figure| figure.unit == Unit::Bytes);
    targets::weigh(weights.map(|figure| (figure.work.clone(), figure.who.clone(), figure.value)))?;
    let mut accepted = comparable_accepted(&baseline, &tools);
    accepted.retain(meant);
    let findings = compare(&comparable(figures, &baseline, &tools), &accepted);
    let (mut failed, mut shrank) = (0, 0);
    for finding in &findings {
        say!("  {finding}");
        match finding.verdict {
            Verdict::Shrank => shrank += 1,
            Verdict::Grew | Verdict::New | Verdict::Gone => failed += 1,
        }
    }
    if failed > 0 {
        if let Some(difference) = baseline.tools.difference(&tools) {
            say!("  The baseline was made with other tools, which alone may be the reason: {difference}.");
        }
        bail!(
            "{failed} figures are not those of {}: undo what made them grow, or accept them with `cargo xtask check \
             --update --why \"the reason\"` and commit the file with the change",
            accepted::FILE
        );
    }
    say!("  {} figures, none more than a twentieth over {}", accepted.len(), accepted::FILE);
    if shrank > 0 {
        say!("  Some shrank: `cargo xtask check --update` keeps it so.");
    }
    Ok(())
}

/// Writes the baseline anew. A growth of more than a twentieth needs a reason.
pub(crate) fn update(why: &str) -> Result<()> {
    let old = Baseline::read().unwrap_or_default();
    let tools = Tools::here()?;
    let figures = ours()?;
    for finding in compare(&figures, &old.figures.iter().map(|accepted| accepted.figure.clone()).collect::<Vec<_>>()) {
        say!("  {finding}");
    }
    old.updated(&figures, tools, why)?.write()?;
    say!("  {} is written", shell::root().join(accepted::FILE).display());
    Ok(())
}

/// Without what another kind of machine makes otherwise.
fn comparable(figures: Vec<Figure>, baseline: &Baseline, tools: &Tools) -> Vec<Figure> {
    let same = baseline.tools.machine == tools.machine;
    if !same {
        say!("  The baseline is of {}: instructions and native code are not compared.", baseline.tools.machine);
    }
    figures.into_iter().filter(|figure| same || !figure.is_of_this_machine()).collect()
}

fn comparable_accepted(baseline: &Baseline, tools: &Tools) -> Vec<Figure> {
    let same = baseline.tools.machine == tools.machine;
    let accepted = baseline.figures.iter().map(|accepted| &accepted.figure);
    accepted.filter(|figure| same || !figure.is_of_this_machine()).cloned().collect()
}
