package doctor

import (
	"embed"
	"path"
	"strings"

	"github.com/headrace/headrace/media"
)

const video = "video and audio"

// FFmpeg is the library that decodes video and audio.
type FFmpeg struct {
	Version  string   `json:"version"` // as in "7.1.5-headrace-full": the one in wheels, with all codecs
	License  string   `json:"license"`
	Path     string   `json:"path"`     // of its libavcodec
	Decoders []string `json:"decoders"` // codecs, by FFmpeg's names
}

// video is decoded by FFmpeg, which is opened when it is needed. If you have no video,
// you need none.
func (e *examiner) video() {
	if e.FLAC != "" {
		e.add(Finding{Topic: video, Name: "flac", Fact: e.FLAC})
	}
	f := Finding{Topic: video, Name: "ffmpeg"}
	found := e.ffmpeg(&f)
	e.add(f)
	if found {
		e.recordings()
	}
}

func (e *examiner) ffmpeg(f *Finding) bool {
	if e.FFmpeg == nil {
		f.Status, f.Fact = Missing, "not opened"
		f.Advice = "only programs with C open FFmpeg" + haveC
		return false
	}
	found, err := e.FFmpeg()
	if err != nil {
		f.Status, f.Fact = Missing, strings.TrimPrefix(err.Error(), media.ErrUnsupported.Error()+": ")
		f.Advice = "video would be decoded"
		return false
	}
	f.Fact = "FFmpeg " + found.Version + ", " + found.License + ", " + found.Path
	f.Value = found
	return true
}

// recorded has a file of each codec that people train on, in different containers.
//
//go:embed recordings
var recorded embed.FS

// recordings decodes each.
func (e *examiner) recordings() {
	entries, err := recorded.ReadDir("recordings")
	if err != nil {
		return
	}
	var good, bad, why []string
	for _, entry := range entries {
		data, err := recorded.ReadFile("recordings/" + entry.Name())
		if err == nil {
			err = e.Decode(data)
		}
		codec := strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))
		if err == nil {
			good = append(good, codec)
			continue
		}
		bad = append(bad, codec)
		why = append(why, entry.Name()+": "+strings.TrimPrefix(err.Error(), media.ErrUnsupported.Error()+": "))
	}

	f := Finding{Topic: video, Name: "codecs", Value: good, Fact: strings.Join(good, ", ")}
	switch {
	case len(good) == 0:
		f.Status, f.Fact = Missing, "nothing is decoded: "+why[0]
		f.Advice = "HEADRACE_FFMPEG chooses another FFmpeg: system, or a folder with its libraries"
	case len(bad) > 0:
		f.Status = Low
		f.Advice = "not " + strings.Join(bad, ", ") + " (" + why[0] + "); HEADRACE_FFMPEG chooses another FFmpeg: " +
			"system, or a folder with its libraries"
	}
	e.add(f)
}
