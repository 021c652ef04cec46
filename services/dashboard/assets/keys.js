/**
 * Keys and the live sign; all the rest is HTML and htmx.
 *   /     to the filter        Escape  out of it
 *   j, k  to the next and the previous row
 */
const isTyping = (element) => element instanceof HTMLElement && element.matches('input, textarea, select')

const step = (by) => {
  const links = [...document.querySelectorAll('main tbody th a, main .subject[href]')]
  if (links.length === 0) return
  const at = links.indexOf(document.activeElement)
  const next = at === -1 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)
  links[next].focus()
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const { activeElement } = document
  if (isTyping(activeElement)) {
    if (event.key === 'Escape') activeElement.blur()
    return
  }
  if (event.key === '/') {
    const filter = document.getElementById('filter')
    if (filter === null) return
    event.preventDefault()
    filter.focus()
    filter.select()
  }
  if (event.key === 'j') step(1)
  if (event.key === 'k') step(-1)
})

const live = (state) => {
  document.documentElement.dataset.live = state
}
document.addEventListener('htmx:sse:after:connection', () => live('on'))
document.addEventListener('htmx:sse:error', () => live('off'))
document.addEventListener('htmx:sse:close', () => live('off'))
