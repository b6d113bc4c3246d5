// Package webp reads and writes WebP with libwebp.
package webp
