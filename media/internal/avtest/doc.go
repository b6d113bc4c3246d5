// Package avtest makes recordings for tests with the command ffmpeg, and reads them with
// it: it is the oracle for whatever decodes.
package avtest
