package recode

import (
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/mpa"
	"github.com/headrace/headrace/media/sound"
)

// mpegFrames tells frames of MP3, MP2 and ADTS from other bytes of their files, which
// FFmpeg hands over as packets as well. It makes of files what load_audio makes of them.
type mpegFrames struct {
	lead  mpa.Lead
	whole bool // all of the file is wanted
	first mpa.Header
	n     int
	early bool // something was cut of the frame before the last
	other bool // bytes have come that are no frame: tags, if they are at the end
}

// begin looks at what comes before the first frame.
func (m *mpegFrames) begin(format string, file *os.File) error {
	if format != "mp3" {
		return nil
	}
	at, head := int64(0), make([]byte, sound.MostHead)
	for {
		n, err := file.ReadAt(head, at)
		if err != nil && err != io.EOF {
			return err
		}
		size := mpa.ID3Size(head[:n])
		if size == 0 {
			m.lead, _ = mpa.LeadOf(head[:n])
			break
		}
		at += int64(size)
	}
	if m.lead.Junk > 0 && m.lead.Frames >= 0 { // FFmpeg does not find the tag in the first frame
		return fmt.Errorf("%w: other bytes come before the first frame of this MP3: load_audio leaves them out", media.ErrUnsupported)
	}
	return nil
}

// take reports whether a packet is to be decoded.
func (m *mpegFrames) take(format string, packet []byte) (bool, error) {
	if format != "mp3" && format != "aac" {
		return true, nil
	}
	h, ok := mpa.Parse(packet)
	switch {
	case !ok && m.n == 0:
		return endsInFrame(packet), nil
	case !ok:
		m.other = true
		return false, nil
	case m.other:
		return false, fmt.Errorf("%w: what comes before frame %d is none: the file is damaged, "+
			"or was joined from parts, which load_audio may read", media.ErrCorrupt, m.n)
	case h.Size > len(packet):
		return false, fmt.Errorf("%w: it ends after %d of the %d bytes of frame %d", media.ErrTruncated, len(packet), h.Size, m.n)
	case m.n > 0 && h.Codec != m.first.Codec:
		return false, fmt.Errorf("%w: at frame %d %s becomes %s: the file was joined from parts",
			media.ErrUnsupported, m.n, m.first.Codec, h.Codec)
	case m.n == 0:
		m.first = h
	}
	m.n++
	return true, nil
}

// endsInFrame reports whether other bytes come before a frame in its packet.
func endsInFrame(packet []byte) bool {
	for i := range packet {
		if h, ok := mpa.Parse(packet[i:]); ok && i+h.Size == len(packet) {
			return true
		}
	}
	return false
}

// cut returns how many samples at the end of the frame that came last are not part of the
// recording, in addition to what is cut of the last one in the file.
func (m *mpegFrames) cut() int64 {
	if more := m.lead.After - int64(m.first.Samples); m.whole && m.n == m.lead.Frames-1 && more > 0 {
		m.early = true
		return more
	}
	return 0
}

// after returns how many samples of the last frame are not part of the recording. FFmpeg
// does not say so if the size of the file is another than the tag in the first frame has.
func (m *mpegFrames) after() (int64, error) {
	switch {
	case m.whole && m.lead.Frames > m.n+1:
		return 0, fmt.Errorf("%w: it ends after %d of %d frames", media.ErrTruncated, m.n, m.lead.Frames)
	case m.n == m.lead.Frames:
		return min(m.lead.After, int64(m.first.Samples)), nil
	case m.early:
		return 0, fmt.Errorf("%w: it has more frames than the %d that it names: it was joined from parts, "+
			"which load_audio reads", media.ErrUnsupported, m.lead.Frames)
	}
	return 0, nil
}
