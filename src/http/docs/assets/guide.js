// Adds a copy button to each command in the guide. Pages that come from another machine over plain
// HTTP get no buttons, because browsers then offer no clipboard.

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
