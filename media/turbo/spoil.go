//go:build cgo

package turbo

import "github.com/headrace/headrace/media"

func init() { kernels["jpeg"] = spoil }

// spoil does the effect jpeg to RGB in place, by libjpeg-turbo: what it codes and decodes
// is what the effect is defined to be, and its vectors make up for coding what would not
// have to be coded. It leaves other pixels to the effect.
func spoil(s *media.Pass, p media.Pixels) media.Pixels {
	if p.Color == media.RGB {
		var plan media.Plan
		quality := media.EncodeOptions{Quality: int(s.Args[0]), Subsampling: "4:2:0"}
		info := media.Info{Format: media.JPEG, Width: p.Width, Height: p.Height, Orientation: 1}
		file, err := Encoder{}.AppendEncoded(nil, p, quality)
		if err == nil {
			err = media.MakePlan(info, media.Options{}, nil, nil, &plan)
		}
		if err == nil && DecodeBy(Front{}, p.Data, p.Stride, file, &info, &plan) == nil {
			return p
		}
	}
	return s.Effect.Apply(&s.Args, p)
}
