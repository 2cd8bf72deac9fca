use super::*;
use crate::math::silu_times;

#[test]
fn rounding_where_it_is_made_gives_the_bits_of_the_steps_by_themselves() {
    for (rows, cols) in [(32, 32), (96, 64), (416, 96)] {
        let pack = |ctx: &Context, seed| {
            let bytes = quantize(&values(rows * cols, seed), cols, DType::Q8_0).unwrap();
            PackedMatrix::pack(ctx, &TensorView::new(DType::Q8_0, vec![rows, cols], &bytes).unwrap())
        };
        for (n, n_threads) in [(1, 1), (2, 2), (7, 1), (47, 3), (48, 1), (65, 2)] {
            let x = values(n * cols, 7);
            for isa in Isa::levels().into_iter().filter(|isa| *isa != Isa::SCALAR) {
                let ctx = Context { isa, pool: ThreadPool::new(n_threads) };
                let (gate, up) = (pack(&ctx, 1), pack(&ctx, 2));
                let (mut x_buffer, mut together, mut steps) = Default::default();
                let x_rows = Rows::quantized(&x, cols, &ctx, &mut x_buffer);
                let made = gated_matmul_int8(&ctx, x_rows, &gate, &up, &mut together).unwrap();
                assert_eq!((made.n, made.cols), (n, rows));

                let (mut a, mut b) = (vec![0.0; n * rows], vec![0.0; n * rows]);
                matmul(&ctx, &gate, x_rows, &mut a);
                matmul(&ctx, &up, x_rows, &mut b);
                silu_times(&ctx, &a, &mut b, rows);
                Rows::quantized(&b, rows, &ctx, &mut steps);
                assert_eq!(together, steps, "{n} x {rows} x {cols} on {}", isa.name());
            }
        }
    }
}

#[test]
fn what_cannot_be_rounded_at_once_is_left_to_the_caller() {
    let ctx = Context { isa: Isa::detect(), pool: ThreadPool::new(1) };
    let pack = |dtype, rows: usize| {
        let bytes = quantize(&values(rows * 32, 1), 32, dtype).unwrap();
        PackedMatrix::pack(&ctx, &TensorView::new(dtype, vec![rows, 32], &bytes).unwrap())
    };
    let x = values(32, 3);
    let (mut x_buffer, mut buffer) = Default::default();
    let x_rows = Rows::quantized(&x, 32, &ctx, &mut x_buffer);
    let mut is_made =
        |x, dtype, rows| gated_matmul_int8(&ctx, x, &pack(dtype, rows), &pack(dtype, rows), &mut buffer).is_some();
    assert!(is_made(x_rows, DType::Q8_0, 64));
    assert!(!is_made(x_rows, DType::Q8_0, 48), "half a block");
    assert!(!is_made(x_rows, DType::F32, 64), "weights of another kind");
    assert!(!is_made(Rows::exact(&x, 32), DType::Q8_0, 64), "exact input rows");
}
