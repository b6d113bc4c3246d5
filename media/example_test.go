package media_test

import (
	"fmt"

	"github.com/headrace/headrace/media"
	_ "github.com/headrace/headrace/media/stills"
	"github.com/headrace/headrace/tensor"
)

// gradient is an image that gets lighter from left to right, as a PNG.
func gradient() []byte {
	p := media.Pixels{Data: make([]byte, 3*64*32), Stride: 3 * 64, Width: 64, Height: 32, DType: tensor.Uint8}
	for i := range p.Data {
		p.Data[i] = byte(i / 3 % 64 * 4)
	}
	data, err := media.Encode(nil, p, media.EncodeOptions{Format: media.PNG})
	if err != nil {
		panic(err)
	}
	return data
}

func ExampleDecode() {
	steps := []media.Step{{Op: media.Resize{Size: 8}}, {Op: media.CenterCrop{Height: 2, Width: 4}}}
	p, err := media.Decode(gradient(), media.Options{Orient: true, Color: media.Gray}, steps, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Form(), p.Data)
	// Output: uint8 [2, 4, 1] [102 118 134 150 102 118 134 150]
}

// Who has memory for the result plans first, and has the decoder write there: here
// planes of floating point.
func Example() {
	data := gradient()
	info, err := media.Probe(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Format, info.Width, info.Height)
	var plan media.Plan
	err = media.MakePlan(info, media.Options{Orient: true}, []media.Step{
		{Op: media.ResizeExact{Height: 1, Width: 2}},
		{Op: media.Normalize{Mean: [3]float64{0.5, 0.5, 0.5}, Std: [3]float64{0.5, 0.5, 0.5}}},
		{Op: media.ToLayout{Layout: media.CHW}},
	}, nil, &plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	form := plan.Form()
	d, err := media.DecoderFor(info.Format)
	if err != nil {
		fmt.Println(err)
		return
	}
	dst := tensor.Tensor{DType: form.DType, Shape: form.Shape(), Data: make([]byte, 3*2*4)}
	if err := d.DecodeInto(dst.Data, form.RowBytes(), data, &info, &plan); err != nil {
		fmt.Println(err)
		return
	}
	values, err := tensor.Values[float32](dst)
	fmt.Printf("%v %.3f %v\n", form, values, err)
	// Output:
	// png 64 32
	// float32 [3, 1, 2] [-0.420 0.396 -0.420 0.396 -0.420 0.396] <nil>
}
