// Package media turns encoded pictures into pixels: it looks at headers, plans what part of a picture is needed and how it is
// scaled, and has a decoder write the result straight into the caller's memory.
//
// # Usage
//
//	info, err := media.Probe(data)                               // the header only
//	err = media.MakePlan(info, media.Options{}, steps, draws, &plan)        // geometry: no pixel is touched
//	dec, err := media.DecoderFor(info.Format)
//	err = dec.DecodeInto(dst, stride, data, &info, &plan)        // plan.Width × plan.Height pixels, RGB, 8 bits
//
// A [Plan] is the geometry of any sequence of operations ([Resize], [CenterCrop], [RandomResizedCrop], …), reduced to as few
// [Stage] values as give the same pixels as one operation after the other. Sizes and offsets are rounded as torchvision rounds them,
// and pixels are resampled as Pillow resamples them: antialiased bilinear, horizontally and then vertically, 8 bits between the passes.
//
// # Decoders
//
// This package is pure Go and decodes with image/jpeg. Package media/turbo registers a decoder on libjpeg-turbo in its place;
// importing it is all there is to do. Resampling gives the same bytes in both. Colours do not: image/jpeg repeats chroma samples where
// libjpeg interpolates them.
//
// # Encoding
//
//	format, err := media.FormatForName("sheet.png")
//	data, err := media.Encode(nil, pixels, media.EncodeOptions{Format: format})
//
// PNG and JPEG are written in plain Go; media/turbo brings libjpeg-turbo's JPEG, with progressive files and other subsampling, and media/webp
// brings WebP. PNG and lossless WebP are read again as they were. An option that a format does not have, and pixels that it cannot hold, are refused.
//
// # Concurrency
//
// Probe and decoders may be used by any number of goroutines; a Plan belongs to one. Memory for intermediate results is kept by
// the decoder and reused, so a decoder that has seen its largest picture allocates nothing more.
//
// # Testing
//
// Expected pixels come from Pillow, sizes and offsets from torchvision, through internal/oracle.
package media
