package recode

import (
	"io"
	"math/big"
	"os"

	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/coded"
)

// mostHeld is how large a file may be that is held in memory: more than an hour of MP3.
// Longer ones go through FFmpeg, which needs no memory for them.
var mostHeld int64 = 64 << 20

// openHeld opens files that are nothing but frames, as package sound does: MP3, MP2, ADTS
// and FLAC that does not say how long it is. Of these FFmpeg refuses short ones, tags
// between frames and bytes before the first, and joined ones have no times. It returns
// nil of other files.
func openHeld(file *os.File, o *SamplesOptions) (*Samples, error) {
	track, ok := o.track()
	if err := o.Check(); err != nil || !ok {
		return nil, err
	}
	from, err := sizeOf(file)
	if err != nil {
		return nil, err
	}
	if from.size > mostHeld {
		return nil, nil
	}
	name, begins, err := sound.NameOf(from)
	if err != nil || name != coded.Frames && !isFLAC(from, begins) {
		return nil, err
	}
	data, err := from.content()
	if err != nil {
		return nil, err
	}
	stream, err := sound.OpenWith(data, sound.Options{Track: track, Choice: o.Choice})
	if err != nil {
		return nil, err
	}
	return within(stream, new(big.Rat), o)
}

func isFLAC(file io.ReaderAt, at int64) bool {
	var head [4]byte
	n, _ := file.ReadAt(head[:], at)
	return string(head[:n]) == "fLaC"
}
