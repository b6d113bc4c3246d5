package coded

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/media"
)

// said is an error without the words with which package media names the kinds of errors:
// they speak of images.
func said(err error) error {
	text := err.Error()
	for _, kind := range []error{media.ErrCorrupt, media.ErrTruncated, media.ErrUnsupported} {
		text = strings.ReplaceAll(text, kind.Error()+": ", "")
	}
	return &reworded{text, err}
}

type reworded struct {
	text string
	err  error
}

func (e *reworded) Error() string { return e.text }

func (e *reworded) Unwrap() error { return e.err }

func noTrack(n, tracks int) error {
	return fmt.Errorf("%w: there is no audio track %d: the file has %d, counted from 0", media.ErrUnsupported, n, tracks)
}

// Refused is the error of a coding of which FFmpeg makes noise, without a word.
func Refused(codec string, config []byte) error {
	if n := len(config); codec == "alac" && n >= alacConfig && config[n-alacConfig+5] == 32 {
		return fmt.Errorf("%w: ALAC of 32 bits, which FFmpeg does not decode", media.ErrUnsupported)
	}
	return nil
}

// alacConfig is how many bytes at the end of the configuration of ALAC are about its
// packets.
const alacConfig = 24
