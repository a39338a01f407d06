//! Bars as SVG, on a logarithmic scale around 1.

use std::fmt::Write as _;

/// One bar.
pub struct Bar {
    pub name: String,
    pub value: f64,
}

/// Pixels.
const ROW: f64 = 18.0;
const NAMES: f64 = 220.0;
const WIDTH: f64 = 520.0;
const TOP: f64 = 44.0;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A picture of bars that begin at 1: to the right above it, to the left and in another colour below.
pub fn bars(title: &str, bars: &[Bar]) -> String {
    let largest = bars.iter().map(|bar| bar.value.max(1.0 / bar.value)).fold(2.0, f64::max);
    // From the smallest power of two that all values fit to the largest.
    let smallest = bars.iter().map(|bar| bar.value).fold(0.5, f64::min);
    let (low, high) = (smallest.log2().floor(), largest.log2().ceil().max(1.0));
    let x = |value: f64| NAMES + (value.log2().clamp(low, high) - low) / (high - low) * WIDTH;
    let height = TOP + ROW * bars.len() as f64 + 8.0;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{:.0}" height="{height:.0}" font-family="sans-serif" font-size="12">"#,
        NAMES + WIDTH + 60.0
    );
    let _ = writeln!(svg, r#"<rect width="100%" height="100%" fill="white"/>"#);
    let _ = writeln!(svg, r#"<text x="8" y="16" font-weight="bold">{}</text>"#, escaped(title));
    for power in low as i32..=high as i32 {
        let value = 2f64.powi(power);
        let at = x(value);
        let colour = if power == 0 { "black" } else { "#dddddd" };
        let _ = writeln!(
            svg,
            r#"<line x1="{at:.1}" y1="{TOP:.0}" x2="{at:.1}" y2="{height:.0}" stroke="{colour}"/>"#
        );
        let _ = writeln!(
            svg,
            r##"<text x="{at:.1}" y="{:.0}" text-anchor="middle" fill="#555555">{value}</text>"##,
            TOP - 6.0
        );
    }
    for (number, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * number as f64;
        let (from, to) = (x(1.0).min(x(bar.value)), x(1.0).max(x(bar.value)));
        let colour = if bar.value < 0.95 { "#c0504d" } else { "#4f81bd" };
        let _ = writeln!(
            svg,
            r#"<text x="{:.0}" y="{:.1}" text-anchor="end">{}</text>"#,
            NAMES - 8.0,
            y + 13.0,
            escaped(&bar.name)
        );
        let _ = writeln!(
            svg,
            r#"<rect x="{from:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="{colour}"/>"#,
            y + 3.0,
            (to - from).max(1.0),
            ROW - 6.0
        );
        let _ = writeln!(svg, r#"<text x="{:.1}" y="{:.1}">{:.2}</text>"#, to + 4.0, y + 13.0, bar.value);
    }
    svg.push_str("</svg>\n");
    svg
}
