package stream_test

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/runtime/stream"
)

// lines is a bounded source.
type lines []int

func (l lines) Run(ctx context.Context, _ stream.Context, out stream.SourceOutput[int]) ([]byte, error) {
	for _, n := range l {
		if err := out.Emit(ctx, n); err != nil {
			return nil, err
		}
	}
	return nil, nil // the end: the runtime answers barriers from here
}

func (l lines) CheckpointComplete(id, oldest int64) {}

// total adds up and prints at the commit, so only what a checkpoint holds.
type total struct {
	stream.Func[int, stream.Nothing] // the methods that it doesn't need
	sum                              int
}

func (t *total) Process(_ context.Context, n int, _ stream.Collector[stream.Nothing]) error {
	t.sum += n
	return nil
}

func (t *total) CheckpointComplete(_ context.Context, id int64) error {
	fmt.Printf("checkpoint %d: %d\n", id, t.sum)
	return nil
}

// The smallest program: a source, a function, an operator that ends the graph.
func Example() {
	env := stream.New(stream.Config{Parallelism: 2})
	numbers := stream.From(env, "numbers", 1, func() stream.Source[int] { return lines{1, 2, 3, 4} })
	squares := stream.Process(numbers, "square", 0, stream.Rebalance[int](), func() stream.Operator[int, int] {
		return stream.Func[int, int](func(ctx context.Context, n int, out stream.Collector[int]) error {
			return out.Collect(ctx, n*n)
		})
	})
	stream.Process(squares, "total", 1, stream.Rebalance[int](), func() stream.Operator[int, stream.Nothing] { return &total{} })
	if err := env.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: checkpoint 1: 30
}
