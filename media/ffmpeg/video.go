//go:build cgo

package ffmpeg

import (
	"errors"

	"github.com/headrace/headrace/media/av/whole"
	"github.com/headrace/headrace/media/video"
)

func init() { video.Use(videoLibrary{}) }

// videoLibrary is what package video decodes with.
type videoLibrary struct{}

// Decoder implements [video.Library].
func (videoLibrary) Decoder(s *video.Stream) (video.Decoder, error) {
	t := Track{Stream: s.Stream, Reorder: s.Reorder, Siting: s.Siting, Bits: s.Bits}
	opens := t.Decoding()
	opens.Choice = s.Choice
	d, err := NewDecoder(opens)
	if err != nil {
		return nil, err
	}
	return &videoDecoder{Decoder: d}, nil
}

// Version is that of FFmpeg; "" if there is none.
func (videoLibrary) Version() string {
	info, _ := Library()
	return info.Version
}

// Demux implements [video.Library].
func (videoLibrary) Demux(data []byte) (*video.Container, error) { return container(Demux(data)) }

// DemuxFile implements [video.Library].
func (videoLibrary) DemuxFile(file video.OpenFile) (*video.Container, error) {
	return container(DemuxFile(file))
}

func container(f *File, err error) (*video.Container, error) {
	if err != nil {
		return nil, err
	}
	c := &video.Container{Format: f.Format, Tracks: make([]video.Track, len(f.Tracks)), Extra: f.extra,
		Live: f.End == whole.Open, Short: f.Short}
	for i := range f.Tracks {
		t := &f.Tracks[i]
		c.Tracks[i] = video.Track{
			Stream:  video.Stream{Stream: t.Stream, Reorder: t.Reorder, Siting: t.Siting, Bits: t.Bits},
			Packets: t.Packets, Cover: t.Cover, Damage: t.Damage,
		}
	}
	return c, nil
}

// videoDecoder is a Decoder that is given one packet at a time.
type videoDecoder struct {
	*Decoder
	packet [1]Packet
	frame  Frame
}

// Feed implements [video.Decoder].
func (d *videoDecoder) Feed(packet []byte, key, unwanted, last bool) error {
	packets := d.packet[:0]
	if len(packet) > 0 {
		packets = append(packets, Packet{Size: len(packet), Key: key, Unwanted: unwanted})
	}
	return d.Decoder.Feed(packet, packets, last)
}

// Next implements [video.Decoder].
func (d *videoDecoder) Next(to *video.Frame) error {
	if err := d.Decoder.Next(&d.frame); err != nil {
		if errors.Is(err, ErrNeeds) {
			return video.ErrNeeds
		}
		return err
	}
	f := &d.frame
	*to = video.Frame{
		Picture: f.Image.Picture, Packet: f.Packet, Corrupt: f.Corrupt, Format: f.Format,
		Untagged: f.Image.Untagged, Interlaced: f.Image.Interlaced,
		Ranged: f.Image.Ranged, Primaries: uint8(f.Image.Primaries), Transfer: uint8(f.Image.Transfer),
	}
	return nil
}
