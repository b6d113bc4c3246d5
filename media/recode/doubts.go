package recode

import (
	"fmt"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/mp4"
	"github.com/headrace/headrace/media/ffmpeg"
)

// checkJoined refuses what package mp4 refuses: FFmpeg reads the first of files that were
// joined, or mixes them.
func checkJoined(file *os.File) error {
	var head [16]byte
	if n, _ := file.ReadAt(head[:], 0); !mp4.Probe(head[:n]) {
		return nil
	}
	about, err := file.Stat()
	if err != nil {
		return err
	}
	if err := mp4.CheckJoined(file, about.Size()); err != nil {
		return fmt.Errorf("%w: %w", media.ErrCorrupt, err)
	}
	return nil
}

// guesses reports whether a container may call packets key that are not.
func guesses(c reader, stream int) bool {
	r, ok := c.(*ffmpeg.Reader)
	return ok && r.Guesses(stream)
}
