package sound

import "fmt"

// Raw says how samples are stored in a file that has nothing else. The zero value is none
// of them.
type Raw struct {
	Format   string // FFmpeg's name: s16le
	Rate     int    // samples of each channel a second
	Channels int
}

// openRaw opens samples without a head.
var openRaw func(c *Content, o Options) (Stream, error)

// RegisterRaw says how samples without a head are opened. It is to be called before
// anything is opened.
func RegisterRaw(open func(c *Content, o Options) (Stream, error)) { openRaw = open }

func opensRaw(c *Content, o Options) (Stream, error) {
	if openRaw == nil {
		return nil, fmt.Errorf("sound: nothing opens %s: import github.com/headrace/headrace/media/sound/wav", o.Raw.Format)
	}
	return openRaw(c, o)
}
