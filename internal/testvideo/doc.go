// Package testvideo makes videos for tests, and asks ffprobe what is in them.
//
// Files are made by the ffmpeg command, which scripts/install.sh installs, when a test
// first asks for them. They stay in the folder for temporary files, for the tests that
// follow.
package testvideo
