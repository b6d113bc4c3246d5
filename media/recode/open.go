package recode

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/mp4"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
)

// container is a file that packets are read from one by one.
type container interface {
	reader
	Only(streams []int) // packets of others need not come
	Close()
}

// open opens a container that FFmpeg knows, or packets of package packets.
func open(file *os.File) (c container, format string, streams []packets.Stream, err error) {
	head := make([]byte, 64)
	if n, _ := file.ReadAt(head, 0); packets.Probe(head[:n]) {
		p, err := openPackets(file)
		if err != nil {
			return nil, "", nil, err
		}
		return p, p.Format, p.Streams, nil
	}
	r, err := ffmpeg.NewReader(file)
	if err != nil {
		return nil, "", nil, err
	}
	if strings.HasPrefix(r.Format, "mov,") {
		nameSamples(file, r.Streams)
	}
	return r, r.Format, r.Streams, nil
}

// nameSamples gives streams of PCM in MP4 the codec that their entries say, where FFmpeg
// has none: of floats.
func nameSamples(file *os.File, streams []packets.Stream) {
	none := func(s packets.Stream) bool { return s.Kind == av.Audio && (s.Codec == "" || s.Codec == "none") }
	about, err := file.Stat()
	if err != nil || !slices.ContainsFunc(streams, none) {
		return
	}
	f, err := mp4.Open(file, about.Size())
	if err != nil || len(f.Streams) != len(streams) {
		return
	}
	for i := range streams {
		if s := &f.Streams[i]; none(streams[i]) && s.Kind == av.Audio {
			streams[i].Codec, streams[i].Rate, streams[i].Channels = s.Codec, s.Rate, s.Channels
		}
	}
}

// packetFile is packets that were taken out of a file before.
type packetFile struct {
	*packets.File
	next int
}

func openPackets(file *os.File) (*packetFile, error) {
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, about.Size())
	if _, err := io.ReadFull(io.NewSectionReader(file, 0, about.Size()), data); err != nil {
		return nil, err
	}
	f, err := packets.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", media.ErrCorrupt, err)
	}
	return &packetFile{File: f}, nil
}

// Read implements reader.
func (p *packetFile) Read(to *packets.Packet) error {
	if p.next == len(p.Packets) {
		return io.EOF
	}
	*to = p.Packets[p.next]
	p.next++
	return nil
}

// Seek implements reader: all are in memory, and are read from the first on.
func (p *packetFile) Seek(int, int64) error { p.next = 0; return nil }

// Only implements container.
func (p *packetFile) Only([]int) {}

// Close implements container.
func (p *packetFile) Close() {}
