// @ts-check
import { h } from './dom.js'

const storedAs = 'theme'

/** A browser that stores nothing for the page keeps none. @param {(storage: Storage) => string | null | void} use */
const stored = (use) => {
  try {
    return use(localStorage)
  } catch {
    return null
  }
}

const chosen = stored((storage) => storage.getItem(storedAs))
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen

const nextTheme = () => {
  const { theme } = document.documentElement.dataset
  const isDark = theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
  return isDark ? 'light' : 'dark'
}

export const themeSwitch = () => {
  const button = h('button', { type: 'button', class: 'quiet' })
  const showNext = () => {
    button.textContent = nextTheme() === 'dark' ? 'Dark' : 'Light'
    button.setAttribute('aria-label', `Show in ${nextTheme()} colours`)
  }
  button.addEventListener('click', () => {
    const theme = nextTheme()
    document.documentElement.dataset['theme'] = theme
    stored((storage) => storage.setItem(storedAs, theme))
    showNext()
    document.dispatchEvent(new Event('themechange'))
  })
  showNext()
  return button
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
  document.dispatchEvent(new Event('themechange')),
)
