"""The recurrence S_t = A_t S_{t-1} + k_t v_tᵀ, o_t = S_tᵀ q_t, in three forms: parallel, by chunks, step by step."""
