//go:build cgo

package turbo

import "github.com/headrace/headrace/media"

func init() { kernels["jpeg"] = spoil }

// spoil does the effect jpeg to RGB in place, by libjpeg-turbo, whose pixels the effect
// is defined to have. Its vectors make up for entropy coding, which the effect leaves
// out. Other pixels are left to the effect.
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
