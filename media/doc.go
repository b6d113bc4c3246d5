// Package media turns encoded images into pixels: it looks at headers, plans what a
// sequence of operations needs of an image, and has a decoder write the result
// straight into the caller's memory.
//
// # Usage
//
//	info, err := media.Probe(data)                               // the header only; formats are recognized by content
//	err = media.MakePlan(info, options, steps, draws, &plan)     // arithmetic: no pixel is touched
//	dec, err := media.DecoderFor(info.Format)
//	err = dec.DecodeInto(dst, stride, data, &info, &plan)        // the result, in the form plan.Form()
//
// [Options] say how an image is decoded: colour, depth, background, whether its
// orientation is applied. [Step] values are operations: on geometry ([Resize],
// [RandomResizedCrop], [Pad], [Rotate90], …), on colours ([ColorJitter], [ToGrayscale],
// …), and last those on the form of the result ([Normalize], [ToLayout]). [Results]
// tells what they make of a form before there is an image.
//
// Pixels that are in memory already take the same plans through a [Runner].
//
// # Plans
//
// A [Plan] has as few [Stage] values, which are passes over pixels, as give the same
// bytes as one operation after the other; that they do is a property test. A stage
// crops, resizes, cuts or pads, turns, and changes colours. Every turn and mirror is
// one of EXIF's eight orientations, so that any number of them is one.
//
// Random operations draw by the identity of their step and the number of the draw.
// These numbers never change, or the same seed would give other images.
//
// # Exactness
//
// Sizes and offsets are rounded as torchvision rounds them. Pixels are resampled as
// Pillow resamples them: antialiased, one direction after the other, rounded to the
// depth of the image in between; colours of RGBA weighted by alpha. Of 8 bits the
// results are Pillow's, byte for byte, for every filter; of 16 bits, which Pillow
// resizes as gray alone, they are within one level of it.
//
// All is integer arithmetic on tables that are the same on every machine: each
// floating-point operation in them is rounded by itself, and sines are computed here.
// So every decoder and every CPU gives the same bytes for the same decoded
// pixels. Decoders of lossy formats differ from each other: image/jpeg repeats chroma
// samples where libjpeg interpolates them.
//
// ICC profiles are ignored: numbers stay as they are stored. Of an animation the first
// frame is decoded.
//
// # Decoders
//
// This package is plain Go, and so is media/stills. Packages with C below media take
// the place of their decoders, and of [GoRunner], when they are imported; importing is
// all there is to do. [Whole] makes a decoder of one that knows nothing of plans.
//
// # Memory
//
// The caller owns what it hands over: data, pixels, the plan, the target. Nothing of it
// is kept after a call, and nothing is written but the rows of the target. Memory for
// intermediate results is kept and used again; how much that can be is reported by
// [Info.WorkingBytes]. MakePlan allocates nothing when it is given the same plan again.
//
// # Concurrency
//
// Probe, decoders, runners and operations may be used by any number of goroutines; a
// Plan belongs to one.
//
// # Testing
//
// Expected pixels come from Pillow, sizes and offsets from torchvision, through
// internal/oracle. media/internal/decodertest is the suite that every decoder of plans
// has to pass, media/internal/pixeltest that for decoders of whole images.
package media
