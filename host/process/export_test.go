package process

// Cut is how many bytes [Output.Text] leaves out.
func (o *Output) Cut() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total - int64(len(o.first)+len(o.last))
}
