package coded

import (
	"bytes"
	"fmt"
	"sort"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/sound"
)

// openAny opens a file that may be several recordings, joined byte by byte.
func openAny(file []byte, o sound.Options) (sound.Stream, error) {
	parts := joined.Chain(bytes.NewReader(file), int64(len(file)))
	if len(parts) == 1 {
		r, err := Open(file, o)
		if err != nil {
			return nil, err // no Recording that is nil
		}
		return r, nil
	}
	return openChain(file, o, parts)
}

// chain is recordings one after the other, each as if it were alone. One of them is open.
type chain struct {
	file   []byte
	opens  sound.Options
	parts  []joined.Part
	starts []int64 // where each begins, and where the last ends
	info   sound.Info

	now  *Recording
	part int // that is open

	damaged bool // one that was open is
}

func openChain(file []byte, o sound.Options, parts []joined.Part) (*chain, error) {
	c := &chain{file: file, opens: o, parts: parts, starts: make([]int64, 1, len(parts)+1)}
	for i := range parts {
		if err := c.open(i); err != nil {
			return nil, err
		}
		info := c.now.Info()
		if i == 0 {
			c.info = info
		}
		if info.Rate != c.info.Rate || info.Channels != c.info.Channels {
			c.Close()
			return nil, c.at(i, fmt.Errorf("%w: %d channels at %d samples a second become %d at %d: "+
				"split the file there, or resample it with ffmpeg",
				media.ErrUnsupported, c.info.Channels, c.info.Rate, info.Channels, info.Rate))
		}
		c.starts = append(c.starts, c.starts[i]+info.Samples)
	}
	c.info.Samples = c.starts[len(parts)]
	return c, nil
}

// open opens a part instead of the one that is open.
func (c *chain) open(part int) error {
	c.Close()
	p := c.parts[part]
	r, err := Open(c.file[p.From:p.To:p.To], c.opens)
	if err != nil {
		return c.at(part, err)
	}
	c.now, c.part = r, part
	return nil
}

// at says in which recording of the chain something is wrong.
func (c *chain) at(part int, err error) error {
	p := c.parts[part]
	when := ""
	if c.info.Rate > 0 && part < len(c.starts) {
		when = fmt.Sprintf("at %.3f s, ", float64(c.starts[part])/float64(c.info.Rate))
	}
	return fmt.Errorf("sound: the file is a chain of recordings, of which number %d begins %sat byte %d: %w",
		part+1, when, p.From, said(err))
}

// Info implements sound.Stream.
func (c *chain) Info() sound.Info { return c.info }

// Damaged implements sound.Patched.
func (c *chain) Damaged() bool { return c.damaged || c.now != nil && c.now.Damaged() }

// Close gives back the decoder's memory.
func (c *chain) Close() {
	if c.now != nil {
		c.damaged = c.Damaged()
		c.now.Close()
		c.now = nil
	}
}

// Read implements sound.Stream.
func (c *chain) Read(to []float32, from int64) error {
	channels := c.info.Channels
	if n := int64(len(to) / channels); from < 0 || from > c.info.Samples-n {
		return fmt.Errorf("sound: samples %d to %d are asked for, of %d", from, from+n, c.info.Samples)
	}
	for len(to) > 0 {
		part := sort.Search(len(c.parts)-1, func(i int) bool { return c.starts[i+1] > from })
		if c.now == nil || c.part != part {
			if err := c.open(part); err != nil {
				return err
			}
		}
		n := min(int64(len(to)/channels), c.starts[part+1]-from)
		if err := c.now.Read(to[:int(n)*channels], from-c.starts[part]); err != nil {
			return c.at(part, err)
		}
		to, from = to[int(n)*channels:], from+n
	}
	return nil
}
