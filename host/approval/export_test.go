package approval

// Left is what a gate still holds: allowances, lanes, decisions under way and who is waited for.
func (g *Gate) Left() (allowed, lanes, under, wake int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.allowed), len(g.lanes), len(g.under), len(g.wake)
}

// MaxAllowances is how many allowances are remembered at a time.
const MaxAllowances = maxAllowances
