package media_test

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/media"
	_ "github.com/headrace/headrace/media/stills"
	"github.com/headrace/headrace/tensor"
)

// What Encode makes, Decode reads; PNG keeps every value.
func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	forms := []media.Form{
		{Color: media.Gray, DType: tensor.Uint8}, {Color: media.RGB, DType: tensor.Uint16}, {Color: media.RGBA, DType: tensor.Uint8},
	}
	for _, f := range forms {
		p := media.Pixels{Width: 7, Height: 5, Color: f.Color, DType: f.DType}
		p.Stride = 7 * p.PixelBytes()
		for i := range p.Stride * p.Height {
			p.Data = append(p.Data, byte(i*37))
		}
		data, err := media.Encode(nil, p, media.EncodeOptions{Format: media.PNG})
		if err != nil {
			t.Fatal(err)
		}
		got, err := media.Decode(data, media.Options{Color: f.Color, DType: f.DType}, nil, nil)
		if err != nil || got.Form() != p.Form() || string(got.Data) != string(p.Data) {
			t.Errorf("%v: %v, %v", f, got.Form(), err)
		}
		pixel := []media.Step{{Op: media.CenterCrop{Height: 1, Width: 1}}}
		got, err = media.Decode(data, media.Options{Color: f.Color, DType: f.DType}, pixel, nil)
		if err != nil || string(got.Data) != string(p.Row(2)[3*p.PixelBytes():][:p.PixelBytes()]) {
			t.Errorf("%v: the middle is %v, %v", f, got.Data, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	p := media.Pixels{Data: make([]byte, 300), Stride: 30, Width: 10, Height: 10, DType: tensor.Uint8}
	data, err := media.Encode(nil, p, media.EncodeOptions{Format: media.PNG})
	if err != nil {
		t.Fatal(err)
	}
	toPlanes := []media.Step{{Op: media.ToLayout{Layout: media.CHW}}}
	toFloat := []media.Step{{Op: media.Normalize{Std: [3]float64{1, 1, 1}}}}
	tooFar := []media.Step{{Op: media.RandomCrop{Height: 11, Width: 1}}}
	for name, c := range map[string]struct {
		data  []byte
		steps []media.Step
		want  error
	}{
		"no picture":  {[]byte("text"), nil, media.ErrFormat},
		"cut":         {data[:len(data)/2], nil, media.ErrTruncated},
		"planes":      {data, toPlanes, media.ErrGeometry},
		"float":       {data, toFloat, media.ErrGeometry},
		"crop":        {data, tooFar, media.ErrGeometry},
		"only header": {data[:33], nil, media.ErrTruncated},
	} {
		if _, err := media.Decode(c.data, media.Options{}, c.steps, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, expected %v", name, err, c.want)
		}
	}
}
