package flac

import (
	"bytes"
	"fmt"
)

// Find returns the frame that has a sample.
func (f *File) Find(sample int64) (Frame, error) {
	if sample < 0 || sample >= f.Samples {
		return Frame{}, fmt.Errorf("flac: sample %d of %d", sample, f.Samples)
	}

	// Bytes and samples between which the frame is. It is looked for where it would be if
	// all had the same size, and if that does not help, in the middle.
	low, high, first, last := f.begin, f.end, int64(0), f.Samples
	for round := 0; high-low > 4*int64(f.most); round++ {
		guess := (low + high) / 2
		if round < 4 {
			guess = low + int64(float64(high-low)*float64(sample-first)/float64(last-first)) - int64(f.most)/2
			guess = min(max(guess, low), high-int64(f.most))
		}
		fr, ok, err := f.from(guess, high)
		switch {
		case err != nil:
			return fr, err
		case !ok:
			high = guess
		case fr.Offset-f.begin > fr.Sample/int64(f.block)*int64(f.most): // more bytes than so many frames have
			return fr, errJoined
		case fr.Has(sample):
			return fr, nil
		case fr.Sample > sample:
			if guess == low { // nothing that is whole comes before this one
				return fr, f.damaged(sample)
			}
			high, last = guess, fr.Sample
		default:
			low, first = fr.Offset+fr.Size, fr.Sample+int64(fr.Samples)
		}
	}

	for low < high {
		fr, ok, err := f.from(low, high)
		if err != nil || fr.Has(sample) {
			return fr, err
		}
		if !ok || fr.Sample > sample {
			break
		}
		low = fr.Offset + fr.Size
	}
	return Frame{}, f.damaged(sample)
}

// damaged is the error of a sample whose frame is not there.
func (f *File) damaged(sample int64) error {
	return fmt.Errorf("%w: the frame at %.3f s is damaged, or missing", errFLAC, float64(sample)/float64(f.Rate))
}

// Bytes are those of a frame, until the next call.
func (f *File) Bytes(fr Frame) ([]byte, error) {
	b, err := f.content.Bytes(fr.Offset, int(fr.Size))
	if err == nil && int64(len(b)) < fr.Size {
		err = fmt.Errorf("%w: the file became shorter while it was read", errFLAC)
	}
	return b, err
}

// Next is the frame after another one.
func (f *File) Next(fr Frame) (Frame, error) {
	wanted := fr.Sample + int64(fr.Samples)
	next, ok, err := f.at(fr.Offset + fr.Size)
	if err == nil && (!ok || next.Sample != wanted) {
		err = f.damaged(wanted)
	}
	return next, err
}

// from is the first frame that begins at a place or after it, before another, and not
// further than damage of some frames reaches.
func (f *File) from(place, before int64) (fr Frame, ok bool, err error) {
	before = min(before, place+4*int64(f.most)+Together)
	for place < before {
		b, err := f.content.Bytes(place, int(min(Together, f.end-place)))
		if err != nil {
			return fr, false, err
		}
		end := len(b) - mostHead // what begins later is looked at with more after it
		if place+int64(len(b)) >= f.end {
			end = len(b)
		}
		for p := 0; p < end && place+int64(p) < before; p++ {
			next := bytes.IndexByte(b[p:end], 0xFF)
			if next < 0 {
				break
			}
			p += next
			if _, _, ok := f.parse(b[p:min(len(b), p+mostHead)]); !ok {
				continue
			}
			if fr, ok, err = f.at(place + int64(p)); ok || err != nil {
				return fr, ok, err
			}
			if b, err = f.content.Bytes(place, len(b)); err != nil { // the part that is in memory may be another
				return fr, false, err
			}
			end = min(end, len(b))
		}
		if end <= 0 {
			break
		}
		place += int64(end)
	}
	return Frame{}, false, nil
}
