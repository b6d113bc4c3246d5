package mp4

// codecs are FFmpeg's names of what sample entries are called.
var codecs = map[string]string{
	"avc1": "h264", "avc2": "h264", "avc3": "h264", "avc4": "h264", "h264": "h264", "H264": "h264", "dva1": "h264", "dvav": "h264",
	"hvc1": "hevc", "hev1": "hevc", "dvh1": "hevc", "dvhe": "hevc",
	"vp08": "vp8", "vp09": "vp9", "av01": "av1",
	"mp4v": "mpeg4", "XVID": "mpeg4", "xvid": "mpeg4", "DIVX": "mpeg4", "DX50": "mpeg4", "3IV2": "mpeg4", "FMP4": "mpeg4",
	"s263": "h263", "h263": "h263", "H263": "h263",
	"jpeg": "mjpeg", "mjpa": "mjpeg", "MJPG": "mjpeg", "png ": "png",
	"m1v ": "mpeg1video", "mp1v": "mpeg1video", "m2v1": "mpeg2video", "mp2v": "mpeg2video",
	"apch": "prores", "apcn": "prores", "apcs": "prores", "apco": "prores", "ap4h": "prores", "ap4x": "prores",
	"AVdn": "dnxhd", "AVdh": "dnxhd", "FFV1": "ffv1", "dvc ": "dvvideo", "dvcp": "dvvideo", "dv5n": "dvvideo", "dv5p": "dvvideo",

	"mp4a": "aac", ".mp3": "mp3", "ac-3": "ac3", "ec-3": "eac3", "Opus": "opus", "fLaC": "flac", "alac": "alac",
	"samr": "amr_nb", "sawb": "amr_wb",
}

// objects are what the descriptor of MPEG-4 systems calls a codec by number.
var objects = map[uint8]string{
	0x20: "mpeg4", 0x21: "h264", 0x23: "hevc", 0x40: "aac", 0x66: "aac", 0x67: "aac", 0x68: "aac", 0x69: "mp3", 0x6b: "mp3",
	0x60: "mpeg2video", 0x61: "mpeg2video", 0x62: "mpeg2video", 0x63: "mpeg2video", 0x64: "mpeg2video",
	0x65: "mpeg2video", 0x6a: "mpeg1video",
	0x6c: "mjpeg", 0x6d: "png", 0xa5: "ac3", 0xa6: "eac3", 0xad: "opus", 0xb1: "vp9", 0xdd: "vorbis",
}

// intra are codecs of which every frame stands alone, whatever a file says.
var intra = map[string]bool{"mjpeg": true, "png": true, "prores": true, "dnxhd": true, "dvvideo": true}
