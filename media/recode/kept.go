package recode

import (
	"fmt"
	"math/big"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/coded"
)

// mostKept is how large a file may be that is damaged, and read to memory.
const mostKept = 1 << 30

// KeptBytes is how many bytes of memory a file takes that is opened with
// [SamplesOptions.Keep]: of most formats no more than what is decoded of it.
func KeptBytes(file *os.File, c av.Choice) (int64, error) {
	from, err := sizeOf(file)
	if err != nil {
		return 0, err
	}
	parts, err := sound.InParts(from, c)
	if err == nil && !parts {
		parts, err = coded.InPlace(from)
	}
	if parts || err != nil {
		return 0, err
	}
	return min(from.size, mostKept), nil
}

// openKept opens a recording as package sound does, which keeps what is there of a file
// that is cut off or damaged.
func openKept(file *os.File, o *SamplesOptions) (*Samples, error) {
	track, ok := o.track()
	if !ok {
		return nil, fmt.Errorf("%w: a damaged file is read of which one stream of sound is wanted", media.ErrUnsupported)
	}
	from, err := sizeOf(file)
	if err != nil {
		return nil, err
	}
	stream, err := streamKept(from, sound.Options{Track: track, Keep: true, Choice: o.Choice})
	if err != nil {
		return nil, err
	}

	begins := new(big.Rat)
	if p, err := pull(file, &Window{Streams: o.Streams, keeps: true}); err == nil { // or it is a recording alone
		if first := p.clock.First[0]; first != nil && p.clock.Zero != nil {
			begins.Sub(first, p.clock.Zero)
		}
		p.close()
	}
	return within(stream, begins, o)
}

// streamKept opens a track of a file, in memory only if it has to be there.
func streamKept(file sized, o sound.Options) (sound.Stream, error) {
	in, err := coded.InPlace(file)
	if err != nil {
		return nil, err
	}
	if in {
		r, err := coded.OpenKept(file, o)
		if err != nil {
			return nil, err // no Recording that is nil
		}
		return r, nil
	}
	if file.size > mostKept {
		return nil, fmt.Errorf("%w: damaged=\"keep\" reads such a file whole, and it has %d bytes, of at most %d",
			media.ErrUnsupported, file.size, mostKept)
	}
	data, err := file.content()
	if err != nil {
		return nil, err
	}
	return sound.OpenWith(data, o)
}
