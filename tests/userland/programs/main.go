// A program in Go: goroutines, its collector, its network.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func verdict(name string, result interface{}) {
	fmt.Printf("= go %s: %v\n", name, result)
}

func goroutines() uint64 {
	var sum uint64
	var group sync.WaitGroup
	for i := 0; i < 10000; i++ {
		group.Add(1)
		go func(n uint64) {
			defer group.Done()
			runtime.Gosched()
			atomic.AddUint64(&sum, n)
		}(uint64(i))
	}
	group.Wait()
	return sum
}

func channels() int {
	first := make(chan int)
	in := first
	for i := 0; i < 200; i++ {
		out := make(chan int)
		go func(in, out chan int) {
			for n := range in {
				out <- n + 1
			}
			close(out)
		}(in, out)
		in = out
	}
	go func() {
		for i := 0; i < 100; i++ {
			first <- i
		}
		close(first)
	}()
	sum := 0
	for n := range in {
		sum += n
	}
	return sum
}

type node struct {
	left, right *node
	key         int
}

func build(depth, key int) *node {
	if depth == 0 {
		return nil
	}
	return &node{build(depth-1, 2*key), build(depth-1, 2*key+1), key}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.key + n.left.sum() + n.right.sum()
}

func collect() string {
	kept := build(16, 1)
	want := kept.sum()
	for i := 0; i < 60; i++ {
		build(14, i).sum()
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return fmt.Sprint(kept.sum() == want, memory.NumGC > 0)
}

func serve() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err.Error()
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%x", sha256.Sum256(body))
	}))
	var group sync.WaitGroup
	var right int64
	for i := 0; i < 50; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			body := bytes.Repeat([]byte{byte(i)}, 10000*i)
			answer, err := http.Post("http://"+listener.Addr().String(), "text/plain", bytes.NewReader(body))
			if err != nil {
				return
			}
			got, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if string(got) == fmt.Sprintf("%x", sha256.Sum256(body)) {
				atomic.AddInt64(&right, 1)
			}
		}(i)
	}
	group.Wait()
	return fmt.Sprint(right, " of 50")
}

func compress() string {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	text := bytes.Repeat([]byte("pre-virtualization "), 200000)
	writer.Write(text)
	writer.Close()
	digest := sha256.Sum256(packed.Bytes())
	reader, err := gzip.NewReader(&packed)
	if err != nil {
		return err.Error()
	}
	again, _ := io.ReadAll(reader)
	return fmt.Sprintf("%v %x", bytes.Equal(text, again), digest[:8])
}

func signals() string {
	caught := make(chan os.Signal, 100)
	signal.Notify(caught, syscall.SIGUSR1)
	for i := 0; i < 20; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		select {
		case <-caught:
		case <-time.After(10 * time.Second):
			return fmt.Sprint("lost ", i)
		}
	}
	return "20 of 20"
}

func fault() (result string) {
	defer func() { result = fmt.Sprint(recover()) }()
	var nothing *node
	return fmt.Sprint(nothing.key)
}

func main() {
	verdict("goroutines", goroutines())
	verdict("channels", channels())
	verdict("collector", collect())
	verdict("http", serve())
	verdict("gzip", compress())
	verdict("signals", signals())
	verdict("nil", fault())
	factorial := new(big.Int).MulRange(1, 3000)
	verdict("big", fmt.Sprintf("%x", sha256.Sum256([]byte(factorial.String())))[:16])
	numbers := make([]int, 500000)
	seed := uint32(1)
	for i := range numbers {
		seed = seed*1664525 + 1013904223
		numbers[i] = int(seed)
	}
	sort.Ints(numbers)
	verdict("sort", fmt.Sprint(sort.IntsAreSorted(numbers), numbers[0], numbers[len(numbers)-1]))
	output, err := exec.Command("/bin/echo", "a child").Output()
	verdict("exec", fmt.Sprintf("%q %v", output, err))
	text, err := json.Marshal(map[string]float64{"e": 2.718281828459045, "pi": 3.141592653589793})
	verdict("json", fmt.Sprint(string(text), err))
	timer := 0
	ticker := time.NewTicker(10 * time.Millisecond)
	for range ticker.C {
		if timer++; timer == 20 {
			break
		}
	}
	verdict("ticker", timer)
}
