//! Vectors some of whose components are the same in all work-items, through functions that make each component of all of them. Sub-groups
//! that run side by side share what is the same in all of them, and nothing else.

use ze_headers::*;
use ze_tests::images::{Around, format, image_desc};
use ze_tests::{CommandList, Image, ListOptions, Module, platform};

const N: usize = 128;

/// What the work-items begin with: something else in each sub-group.
fn inputs() -> Vec<u32> {
    (0..N).map(|at| (at * 7 % 17 % 16) as u32).collect()
}

/// What keeps several sub-groups side by side worth their while, and is added to the first component.
fn long(x: u32) -> f32 {
    let t = x as f32 / 16.0;
    ((t * t * (3.0 - 2.0 * t)) * 1000.0).trunc()
}

/// Four components of which one is the work-item's.
fn placed(at: usize, x: u32) -> [f32; 4] {
    let mut v = [1.0, 2.0, 3.0, 0.0];
    v[at] = x as f32;
    v
}

fn check(what: &str, got: &[f32], want: impl Fn(u32) -> [f32; 4]) {
    for (item, (got, x)) in got.chunks(4).zip(inputs()).enumerate() {
        let mut want = want(x);
        want[0] += long(x);
        for (component, (got, want)) in got.iter().zip(want).enumerate() {
            let close = (got - want).abs() <= 1e-4 * want.abs().max(1.0);
            // The integer part that is cut off may be another one where the fraction is hardly any.
            let close = close || component == 0 && (got - want).abs() <= 1.001;
            assert!(close, "{what}: component {component} of {item} is {got}, not {want}");
        }
    }
}

fn normalized(v: [f32; 4]) -> [f32; 4] {
    let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    v.map(|x| x / length)
}

fn cross(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0]
}

const FIXED: [f32; 4] = [4.0, 5.0, 6.0, 7.0];

#[test]
fn each_sub_group_has_its_own_components() {
    let module = Module::named("components");
    let there = platform().buffer(&inputs());
    let run = |name: &str, at: usize, first: Option<u32>| {
        let out = platform().filled(0.0f32, 4 * N);
        let kernel = module.kernel(&format!("{name}_{at}"));
        match &first {
            Some(first) => kernel.run_1d(N, 64, &[&there, &out, first]),
            None => kernel.run_1d(N, 64, &[&there, &out]),
        }
        out.to_vec()
    };
    for at in 0..4 {
        for name in ["normalize", "fast_normalize"] {
            check(name, &run(name, at, None), |x| normalized(placed(at, x)));
        }
        check("cross", &run("cross", at, None), |x| cross(placed(at, x), FIXED));
        check("crossed", &run("crossed", at, None), |x| cross(FIXED, placed(at, x)));
        for first in 0..4u32 {
            let shuffled = run("shuffle", at, Some(first));
            check("shuffle", &shuffled, |x| [0, 1, 2, 3].map(|k| placed(at, x)[(first as usize + k) & 3]));
            let shuffled = run("shuffled", at, Some(first));
            check("shuffled", &shuffled, |x| {
                placed(at, x).map(|index| FIXED[(index as u32 + first) as usize & 3])
            });
            let shuffled = run("shuffle2", at, Some(first));
            check("shuffle2", &shuffled, |x| {
                let both = [FIXED, placed(at, x)].concat();
                [0, 2, 4, 6].map(|k| both[(first as usize + k) & 7])
            });
        }
    }
}

#[test]
fn each_sub_group_has_its_own_texels() {
    let texels: Vec<u32> = (0..4 * 4 * 4 * 4).collect();
    let layout = format(ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ZE_IMAGE_FORMAT_TYPE_UINT);
    let image = Image::new(&image_desc(ZE_IMAGE_TYPE_3D, layout, [4, 4, 4])).unwrap();
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let from = texels.as_ptr().cast();
    // SAFETY: synchronous; the texels are the image's.
    unsafe { list.image_copy_from_memory((&image, None), from, [0; 2], Around::default()) }.unwrap();
    let module = Module::named("components");
    let there = platform().buffer(&inputs());
    for at in 0..3 {
        let out = platform().filled(0.0f32, 4 * N);
        module.kernel(&format!("texel_{at}")).run_1d(N, 64, &[&(image.handle as u64), &there, &out]);
        check(&format!("texel {at}"), &out, |x| {
            let mut place = [1, 2, 3];
            place[at] = x as usize & 3;
            let texel = place[0] + 4 * (place[1] + 4 * place[2]);
            [0, 1, 2, 3].map(|channel| texels[4 * texel + channel] as f32)
        });
    }
}
