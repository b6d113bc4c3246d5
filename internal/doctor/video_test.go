package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
)

func TestFFmpeg(t *testing.T) {
	f := Finding{}
	e := examiner{Machine: Machine{FFmpeg: func() (FFmpeg, error) {
		return FFmpeg{}, fmt.Errorf("%w: no such file", media.ErrUnsupported)
	}}}
	if e.ffmpeg(&f); f.Status != Missing || f.Fact != "no such file" || f.Advice != "video would be decoded" || f.Essential {
		t.Errorf("%+v", f)
	}
	f = Finding{}
	e.FFmpeg = func() (FFmpeg, error) {
		return FFmpeg{Version: "7.1.5", License: "LGPL version 2.1 or later", Path: "/a/libavcodec.so.61"}, nil
	}
	if e.ffmpeg(&f); f.Status != "" || f.Fact != "FFmpeg 7.1.5, LGPL version 2.1 or later, /a/libavcodec.so.61" {
		t.Errorf("%+v", f)
	}
	if f, e.FFmpeg = (Finding{}), nil; true {
		e.ffmpeg(&f)
	}
	if f.Status != Missing || f.Advice == "" {
		t.Errorf("%+v", f)
	}
}

// What is not decoded is named, with FFmpeg's reason for the first of them.
func TestCodecs(t *testing.T) {
	for _, c := range []struct {
		bad          string // that appears in a file
		status       Status
		fact, advice string
	}{
		{"", OK, "h264, hevc", ""},
		{"ftyp", Low, "vp8, vp9", "not aac, av1, h264, hevc (aac.m4a: no decoder); HEADRACE_FFMPEG chooses another FFmpeg"},
		{"all", Missing, "nothing is decoded: aac.m4a: no decoder", "HEADRACE_FFMPEG"},
	} {
		e := examiner{Machine: Machine{
			FFmpeg: func() (FFmpeg, error) { return FFmpeg{}, nil },
			Decode: func(data []byte) error {
				if c.bad == "all" || c.bad != "" && bytes.Contains(data, []byte(c.bad)) {
					return errors.New("no decoder")
				}
				return nil
			},
		}}
		e.video()
		f := e.report.Findings[1]
		if f.Status != c.status || !strings.Contains(f.Fact, c.fact) || !strings.Contains(f.Advice, c.advice) {
			t.Errorf("%+v", f)
		}
	}
}
