// @ts-check
import { h } from './dom.js'

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
    document.documentElement.dataset['theme'] = nextTheme()
    showNext()
    document.dispatchEvent(new Event('themechange'))
  })
  showNext()
  return button
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
  document.dispatchEvent(new Event('themechange')),
)
