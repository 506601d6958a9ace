package console

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows long work as it happens: on a terminal one line that counts the seconds and is replaced, elsewhere
// one line at the beginning of each step. It is safe for concurrent use.
type Progress struct {
	now  func() time.Time
	live bool
	stop chan struct{}
	done chan struct{}

	mu    sync.Mutex // guards the rest, and the text
	text  *Text
	step  string
	since time.Time
	drawn bool // the live line is on the screen
}

// redraw is how often the live line counts.
const redraw = time.Second

// NewProgress starts showing on w; now is the clock. Close ends it.
func NewProgress(w io.Writer, now func() time.Time) *Progress {
	p := &Progress{now: now, live: isTerminal(w), text: NewText(w, false, width(w)), stop: make(chan struct{}), done: make(chan struct{})}
	if !p.live {
		close(p.done)
		return p
	}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
				p.mu.Lock()
				if p.drawn || p.now().Sub(p.since) >= redraw/2 {
					p.draw()
				}
				p.mu.Unlock()
			}
		}
	}()
	return p
}

// Step says what is being done from now on; it ends the step before it.
func (p *Progress) Step(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.since = fmt.Sprintf(format, p.text.safe(args)...), p.now()
	if p.live {
		p.draw()
		return
	}
	p.text.write(p.step + "\n")
}

// Later says what is being done, for work that is mostly over at once: a terminal shows it once it takes a
// second, anything else not at all.
func (p *Progress) Later(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.clear()
		p.step, p.since = fmt.Sprintf(format, p.text.safe(args)...), p.now()
	}
}

// Idle ends the step, so that something else can be written.
func (p *Progress) Idle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.step = ""
}

// Close takes the live line away and ends. It may be called once.
func (p *Progress) Close() {
	close(p.stop)
	<-p.done
	p.Idle()
}

func (p *Progress) clear() {
	if p.drawn {
		p.text.write("\r\x1b[K")
		p.drawn = false
	}
}

func (p *Progress) draw() {
	if p.step == "" {
		return
	}
	line := p.step
	if s := p.now().Sub(p.since).Truncate(time.Second); s > 0 {
		line += " " + s.String()
	}
	if w := p.text.width; w > 1 {
		if r := []rune(line); len(r) >= w {
			line = string(r[:w-2]) + "…"
		}
	}
	p.text.write("\r\x1b[K" + line)
	p.drawn = true
}
