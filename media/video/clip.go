package video

import (
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
)

// Clip is some frames of a video, on their way. One goroutine at a time may use it, and
// somebody has to close it.
type Clip struct {
	video *Video
	runs  []run
	data  *[]byte // packets that were read; nil: the file is in memory, or nothing was read
	keeps bool    // frames that are damaged come, too
}

// run is a run with the places of its packets in the clip's data, from its first on.
type run struct {
	av.Run
	at []int
}

// Clip returns frames, given by their numbers. Their order and repeats do not matter;
// [av.Blank] is none. A number that no frame has is an error, and a file that ends before
// what the frames need is truncated.
func (v *Video) Clip(frames []int) (*Clip, error) { return v.clip(frames, false) }

// ClipKept is Clip that does not end with damage: Decode shows frames that are not what
// they should be with a mark, and those that the decoder does not give not at all.
func (v *Video) ClipKept(frames []int) (*Clip, error) { return v.clip(frames, true) }

func (v *Video) clip(frames []int, keeps bool) (*Clip, error) {
	for _, n := range frames {
		if n != av.Blank && (n < 0 || n >= v.Table.Line.Len()) {
			return nil, fmt.Errorf("media/video: there is no frame %d: the video has %d frames", n, v.Table.Line.Len())
		}
	}
	wanted := slices.DeleteFunc(slices.Clone(frames), func(n int) bool { return n == av.Blank })
	c := &Clip{video: v, keeps: keeps}
	for _, r := range v.Table.Runs(wanted) {
		if err := v.checkWithin(r); err != nil && !keeps {
			return nil, about(err)
		}
		c.runs = append(c.runs, run{Run: r})
	}
	return c, nil
}

func (v *Video) checkWithin(r av.Run) error {
	size := v.file.Size()
	for i := r.First; i <= r.Last; i++ {
		if p := &v.Table.Packets[i]; p.End() > size+int64(len(v.extra)) || p.Offset < size && p.End() > size {
			return fmt.Errorf("%w: %w", media.ErrTruncated, v.Table.CheckWithin(i, i, size))
		}
	}
	return nil
}

// Bytes is how many bytes Load reads.
func (c *Clip) Bytes() (n int64) {
	for i := range c.runs {
		n += c.video.bytesOf(c.runs[i].Run)
	}
	return n
}

func (v *Video) bytesOf(r av.Run) (n int64) {
	if _, ok := v.file.(Bytes); ok {
		return 0
	}
	for i := r.First; i <= r.Last; i++ {
		if p := &v.Table.Packets[i]; p.End() <= v.file.Size() {
			n += int64(p.Size)
		}
	}
	return n
}

var pool = scratch.Pool{Brief: true}

// Load reads the packets, which may wait for a disk. It is for anyone who must not wait
// in Decode, which reads them otherwise.
func (c *Clip) Load() error {
	if c.data != nil || c.Bytes() == 0 {
		return nil
	}
	c.data = pool.Take(int(c.Bytes()))
	rest := *c.data
	for i := range c.runs {
		r := &c.runs[i]
		n := int(c.video.bytesOf(r.Run))
		if err := c.video.read(rest[:n], r, len(*c.data)-len(rest)); err != nil {
			c.Close()
			return about(err)
		}
		rest = rest[n:]
	}
	return nil
}

// read fills a buffer, that begins at a place of the clip's data, with the packets of a
// run.
func (v *Video) read(to []byte, r *run, place int) error {
	size := v.file.Size()
	r.at = make([]int, r.Last+1-r.First)
	for i := range r.at {
		r.at[i] = place
		if p := &v.Table.Packets[r.First+i]; p.End() <= size {
			place += int(p.Size)
		}
	}
	for i := r.First; i <= r.Last; {
		first := &v.Table.Packets[i]
		i++
		if first.End() > size { // in pieces, or cut off
			continue
		}
		n := int(first.Size)
		for i <= r.Last && v.Table.Packets[i].Offset == first.Offset+int64(n) && v.Table.Packets[i].End() <= size {
			n += int(v.Table.Packets[i].Size)
			i++
		}
		if got, err := v.file.ReadAt(to[:n], first.Offset); got < n {
			if err == io.EOF {
				err = media.ErrTruncated
			}
			return fmt.Errorf("media/video: %d bytes at %d: %w", n, first.Offset, err)
		}
		to = to[n:]
	}
	return nil
}

// packet returns the bytes of a packet; none of one that is cut off.
func (c *Clip) packet(r *run, i int) []byte {
	p, size := &c.video.Table.Packets[i], c.video.file.Size()
	if p.End() > size+int64(len(c.video.extra)) || p.Offset < size && p.End() > size {
		return nil
	}
	if p.Offset >= size {
		return c.video.extra[p.Offset-size : p.End()-size]
	}
	if b, ok := c.video.file.(Bytes); ok {
		return b[p.Offset:p.End()]
	}
	return (*c.data)[r.at[i-r.First]:][:p.Size]
}

// Close gives back what Load has read. The clip can be loaded again.
func (c *Clip) Close() {
	if c.data != nil {
		pool.Give(c.data)
		c.data = nil
	}
}

// WorkingBytes is an upper estimate of what a decoder of the stream takes while a clip is
// decoded: frames that others refer to, and those that wait for their turn.
func (v *Video) WorkingBytes() int64 {
	frames := int64(4)
	switch v.Stream.Codec {
	case "h264", "hevc":
		frames = 18
	case "vp9", "av1":
		frames = 12
	}
	if n := v.Stream.Choice.Threads(); n > 1 { // each has a frame in hand
		frames += int64(n)
	}
	depth := int64(1)
	if v.Stream.Depth > 8 || v.Stream.Depth == 0 && v.Stream.Codec != "h264" {
		depth = 2
	}
	// Chroma may be as large as luma; most streams have half of that. Tables of motion
	// and of blocks add a little for each frame.
	pixels := int64(v.Stream.Width+64) * int64(v.Stream.Height+64)
	return 1<<20 + frames*pixels*2*depth
}
