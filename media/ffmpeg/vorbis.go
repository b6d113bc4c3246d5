//go:build cgo

package ffmpeg

import (
	"errors"
	"io"
	"math"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/av/vorbis"
)

// placed takes the times of Vorbis, and where its recordings begin and end, from the
// pages of Ogg.
func (f *File) placed(file io.ReaderAt) {
	if f.Format != "ogg" {
		return
	}
	nth := 0
	for i := range f.Tracks {
		if t := &f.Tracks[i]; t.Codec == "vorbis" {
			t.placed(vorbis.PlacesOf(file, f.size, nth))
			nth++
		}
	}
}

func (t *Track) placed(places *vorbis.Places) {
	trims := t.Trims
	t.Trims = nil
	n := 0
	for ; n < len(t.Packets); n++ {
		p := &t.Packets[n]
		place, ok := places.Next()
		if !ok || place.Size != int(p.Size) || place.Lasts > math.MaxInt32 {
			break
		}

		p.PTS, p.DTS, p.Duration = place.PTS, place.PTS, uint32(place.Lasts)
		if place.Skip > 0 || place.Cut > 0 {
			t.Trims = append(t.Trims, Trim{n, int(place.Skip), int(place.Cut)})
		}
	}

	for _, trim := range trims { // where the pages did not help
		if trim.Packet >= n {
			t.Trims = append(t.Trims, trim)
		}
	}
}

// placesOf are those of the streams of a container, by their numbers.
func placesOf(format string, streams []packets.Stream, file *io.SectionReader) (all map[int]*vorbis.Places) {
	if format != "ogg" {
		return nil
	}
	all = make(map[int]*vorbis.Places)
	for i := range streams {
		if streams[i].Kind == av.Audio && streams[i].Codec == "vorbis" {
			all[i] = vorbis.PlacesOf(file, file.Size(), len(all))
		}
	}
	return all
}

// place does with one packet what placed does with all.
func (s *source) place(p *packets.Packet) {
	places := s.places[p.Stream]
	if places == nil {
		return
	}
	place, ok := places.Next()
	if !ok || place.Size != len(p.Data) || place.Lasts > math.MaxInt32 {
		delete(s.places, p.Stream)
		return
	}
	p.PTS, p.DTS, p.Duration = place.PTS, place.PTS, place.Lasts
	p.Skip, p.Cut = uint32(place.Skip), uint32(place.Cut)
}

// onePage is more than the headers of Vorbis and a page take.
const onePage = 1 << 18

// errShort says that a file is read from its beginning: FFmpeg loses the times of Vorbis
// of which all packets are in one page.
var errShort = errors.New("media/ffmpeg: nothing is sought in short recordings of Vorbis")

// sought forgets the places, which go from packet to packet.
func (s *source) sought() error {
	if len(s.places) > 0 && s.part.Size() < onePage {
		return errShort
	}
	s.places = nil
	return nil
}
