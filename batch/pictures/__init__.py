"""The pictures that the sidebar shows, drawn by Limen itself: thumbnails, icons, the chip."""
