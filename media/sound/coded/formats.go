package coded

import (
	"github.com/headrace/headrace/media/av/mpa"
	"github.com/headrace/headrace/media/sound"
)

func init() {
	sound.Register(flacFormat)
	sound.Register(mpegFormat)
	sound.Register(Format)
}

// Frames is the name of the format of MP3, MP2 and ADTS without a container.
const Frames = "mpeg audio"

// mpegFormat is MP3, MP2 and ADTS without a container.
var mpegFormat = sound.Format{
	Name: Frames, Suffixes: []string{".mp3", ".mp2", ".mpga", ".aac"},
	Is: mpa.Probe, Within: mpa.Within, Tagged: true, Decoded: true,
	Open: func(file []byte, o sound.Options) (sound.Stream, error) {
		r, err := openFrames(file, o)
		if err != nil {
			return nil, err // no Recording that is nil
		}
		return r, nil
	},
}

// Format is all other files with coded samples, for [sound.Register].
var Format = sound.Format{
	Name: "coded",
	Suffixes: []string{
		".flac", ".ogg", ".oga", ".opus", ".spx", ".m4a", ".m4b", ".snd", ".wma", ".amr", ".mka", ".ac3", ".wv", ".voc", ".tta", ".dts",
		".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts", ".flv",
	},
	Is:      Is,
	Decoded: true,
	Open:    openAny,
}
