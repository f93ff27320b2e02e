// Adds a copy button to each command in the guide. Browsers offer the clipboard only to pages from
// HTTPS or from the same machine.

const COPIED_MS = 2000

if (navigator.clipboard) {
  for (const command of document.querySelectorAll('pre:has(> .language-shell)')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(command.textContent.trimEnd())
      button.textContent = 'Copied'
      setTimeout(() => { button.textContent = 'Copy' }, COPIED_MS)
    })
    const box = document.createElement('div')
    box.className = 'command'
    command.replaceWith(box)
    box.append(command, button)
  }
}
