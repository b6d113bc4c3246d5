package sound

import "fmt"

// Endless is the length of a recording whose end has not come.
const Endless = 1 << 40

// kept is the number of samples that stay after they were read: resampling reads some of
// them again.
const kept = 1 << 14

// Forward is samples that come one after the other, of which the last stay for a while.
type Forward struct {
	Held  []float32
	Begin int64 // of Held
	Total int64 // [Endless], until the end has come
}

// Read fills to with samples of so many channels from a place on. More has further ones
// come, or sets Total. After the end there is silence.
func (f *Forward) Read(to []float32, from int64, channels int, more func() error) error {
	n := int64(len(to) / channels)
	for f.Begin+int64(len(f.Held)/channels) < from+n && f.Total == Endless {
		if err := more(); err != nil {
			return err
		}
	}
	if from < f.Begin {
		return fmt.Errorf("sound: sample %d was read, and is gone: %d is the first", from, f.Begin)
	}
	at := min((from-f.Begin)*int64(channels), int64(len(f.Held)))
	clear(to[copy(to, f.Held[at:]):])
	if drop := from - kept - f.Begin; drop > kept {
		f.Held = f.Held[:copy(f.Held, f.Held[min(drop*int64(channels), int64(len(f.Held))):])]
		f.Begin += drop
	}
	return nil
}
