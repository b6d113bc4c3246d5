package sound

import (
	"context"
	"errors"
)

// Played is the sound of a file from some time on, read forwards. It must be closed,
// which leaves the file open.
type Played interface {
	Rate() int
	Channels() int
	// Second is when the next sample is played. 0 is the first frame of the file's video,
	// or, where it has none, its first sample.
	Second() float64
	// Next decodes samples of all channels, side by side, and returns how many of each
	// there are: fewer than there is room for at the end, and none after it.
	Next(ctx context.Context, to []float32) (n int, err error)
	Close()
}

// PlayOptions say what is played, and how it comes out.
type PlayOptions struct {
	Track          int     // as for [Open]
	Begin, End     float64 // seconds; what comes may begin earlier
	Rate, Channels int     // 0: as they are
}

// A SilentError says that there is no sound in a window, and why.
type SilentError struct{ Err error }

// Error implements error.
func (e *SilentError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *SilentError) Unwrap() error { return e.Err }

var player func(File, PlayOptions) (Played, error)

// RegisterPlayer makes known what plays files. It is to be called before anything is
// opened.
func RegisterPlayer(play func(File, PlayOptions) (Played, error)) { player = play }

// Play opens the sound of a file, which has to stay open. A [SilentError] says that there
// is none.
func Play(file File, o PlayOptions) (Played, error) {
	if player == nil {
		return nil, errors.New("sound: this program plays no files: import headrace/media/recode")
	}
	return player(file, o)
}
