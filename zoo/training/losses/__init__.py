"""What a training minimises: losses by task, of attention, of the user."""
