package iceberg

import (
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// pageWindow is the zstd window: no page is compressed with more history.
const pageWindow = 1 << 20

// pageCodec is arrow-go's zstd codec with another encoder. Theirs searches
// for entropy in literals that did not match anything (random numbers,
// timestamps), which costs 20 times the CPU of such a page for 15 % of its size, adds
// a checksum to every page, and lets its encoders be garbage collected.
type pageCodec struct {
	libraryCodec
	encoders map[zstd.EncoderLevel]chan *zstd.Encoder
}

// libraryCodec is what arrow-go's own codec can do; everything but compressing is
// left to it.
type libraryCodec interface {
	compress.StreamingCodec
	compress.ErrorCodec
}

// registerCodec replaces zstd in arrow-go, for all files that the process writes.
var registerCodec = sync.OnceFunc(func() {
	codec, err := compress.GetCodec(compress.Codecs.Zstd)
	theirs, ok := codec.(libraryCodec)
	if err != nil || !ok {
		return // another version of arrow-go: its own codec is as correct
	}
	c := &pageCodec{libraryCodec: theirs, encoders: map[zstd.EncoderLevel]chan *zstd.Encoder{}}
	for _, l := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression, zstd.SpeedBestCompression} {
		c.encoders[l] = make(chan *zstd.Encoder, runtime.GOMAXPROCS(0))
	}
	compress.RegisterCodec(compress.Codecs.Zstd, c)
})

// EncodeLevel compresses src into dst, which is grown when it is too small.
func (c *pageCodec) EncodeLevel(dst, src []byte, level int) []byte {
	l := zstd.EncoderLevelFromZstd(level)
	if level == compress.DefaultCompressionLevel {
		l = zstd.SpeedDefault
	}
	var e *zstd.Encoder
	select {
	case e = <-c.encoders[l]:
	default:
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderLevel(l), zstd.WithEncoderConcurrency(1),
			zstd.WithAllLitEntropyCompression(false), zstd.WithEncoderCRC(false), zstd.WithWindowSize(pageWindow))
		if err != nil {
			return c.libraryCodec.EncodeLevel(dst, src, level)
		}
	}
	dst = e.EncodeAll(src, dst[:0])
	select {
	case c.encoders[l] <- e:
	default:
	}
	return dst
}

// Encode compresses at the default level.
func (c *pageCodec) Encode(dst, src []byte) []byte {
	return c.EncodeLevel(dst, src, compress.DefaultCompressionLevel)
}
