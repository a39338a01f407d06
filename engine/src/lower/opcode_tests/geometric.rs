//! Lengths and directions of vectors of every magnitude, which squares of their components have no room for.

use super::{kernel, run};

/// Right triangles of whole sides, and what they are multiplied with.
const SIDES: [[f32; 3]; 4] = [[3.0, 4.0, 5.0], [-8.0, 15.0, 17.0], [0.0, -7.0, 7.0], [20.0, 21.0, 29.0]];
const POWERS: [i32; 13] = [-140, -127, -126, -100, -64, -63, 0, 1, 62, 63, 100, 122, 123];

#[test]
fn lengths_and_directions_are_exact_to_a_few_units_at_every_magnitude() {
    let vectors: Vec<([f32; 3], f32)> =
        POWERS.iter().flat_map(|power| SIDES.map(|sides| (sides, f64::powi(2.0, *power) as f32))).collect();
    const WIDTH: u32 = 16;
    let group_size = 2 * WIDTH;
    let items = 2 * group_size as usize;
    let at = |item: usize| vectors[item % vectors.len()];
    let component = |number: usize| -> Vec<u32> {
        (0..items).map(|item| (at(item).0[number] * at(item).1).to_bits()).collect()
    };
    let body = "%px = OpInBoundsPtrAccessChain %pg_uint %in %gx\n%xi = OpLoad %uint %px\n%x = OpBitcast %float %xi\n\
        %py = OpInBoundsPtrAccessChain %pg_uint %index %gx\n%yi = OpLoad %uint %py\n%y = OpBitcast %float %yi\n\
        %v = OpCompositeConstruct %float2 %x %y\n%zero = OpCompositeConstruct %float2 %f0 %f0\n\
        %r0 = OpExtInst %float %std length %v\n%r1 = OpExtInst %float %std distance %zero %v\n\
        %unit = OpExtInst %float2 %std normalize %v\n%r2 = OpCompositeExtract %float %unit 0\n\
        %r3 = OpCompositeExtract %float %unit 1\n%first = OpIMul %ulong %gx %ul4\n";
    let mut body = body.to_owned();
    for result in 0..4 {
        body += &format!(
            "%w{result} = OpBitcast %uint %r{result}\n%place{result} = OpIAdd %ulong %first %ul{result}\n\
             %to{result} = OpInBoundsPtrAccessChain %pg_uint %out %place{result}\nOpStore %to{result} %w{result}\n"
        );
    }
    let text = kernel(Some(WIDTH), "", &body).replace("%f1 = ", "%f0 = OpConstantNull %float\n%f1 = ");
    let found = run(&text, group_size, &component(0), &component(1), 4);
    for (item, results) in found.chunks_exact(4).enumerate() {
        let ([x, y, length], scale) = at(item);
        let results: Vec<f64> = results.iter().map(|bits| f64::from(f32::from_bits(*bits))).collect();
        // Subnormal numbers have fewer digits.
        let unit = f64::from(f32::EPSILON);
        let near = |found: f64, expected: f64, least: f64| {
            let error = (found - expected).abs() / (expected.abs() * unit).max(least);
            assert!(error <= 5.0, "{found} for {expected} of ({x}, {y}) * {scale:e}");
        };
        let exact = f64::from(length) * f64::from(scale);
        near(results[0], exact, f64::powi(2.0, -149));
        near(results[1], exact, f64::powi(2.0, -149));
        near(results[2], f64::from(x) / f64::from(length), unit * unit);
        near(results[3], f64::from(y) / f64::from(length), unit * unit);
    }
}
